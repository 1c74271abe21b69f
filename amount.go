package aimd

import (
	"context"

	"github.com/aimd-go/aimd/window"
)

// WithAmount returns a context whose operations cost n each: the tokens of a prompt, the bytes of an upload. Every
// limiter that gets the context counts the amount in Config.MaxAmountRate, and in the service's quotas whose reports
// are amounts. An amount never counts in the window: a slot is one attempt. Operations keep their order, so a small
// operation does not overtake a large one.
//
// n is 1 to 1e12; 0: nothing is said. An operation has an error at once, a setting.Error of the name "amount", if n is
// another number, if n is above the limit of such a quota, or if n is above what MaxAmountRate allows in 10000 s. If
// such a limit is reported while the operation waits, it has the error when it comes to the front of the queue.
//
// If the true cost is known only after the answer, attempt.Used or httplimit.Transport.ReadUsage says it.
//
// Within an attempt that has a slot of the limiter, as in the function of Do, WithAmount has no effect: the amount of the
// slot counts. In [Each] and [Map], whose items share one context, attempt.Used at the begin of the function says what
// an item costs.
func WithAmount(ctx context.Context, n float64) context.Context {
	w := wanted(ctx)
	w.amount = n
	return context.WithValue(ctx, wantsKey{}, w)
}

// allowed is an error if an operation may not cost its amount. In shadow it says nothing instead.
func (l *Limiter) allowed(of *wants) error {
	if of.amount == 0 {
		return nil
	}
	l.lock()
	err := l.gate.Allowed(l.now(), of.amount)
	l.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case l.shadow():
		of.amount = 0
		return nil
	}
	return wrong(err)
}

// front is the operation at the front of the queue, nil without one, after the gate was told its amount.
func (l *Limiter) front() *waiter {
	l.line.Yields = l.line.Urgent() > 0 && l.gate.Yields()
	l.line.AsideTurn = l.gate.AsideTurn()
	first := l.line.Front()
	if first == nil {
		return nil
	}
	l.gate.Amount, l.gate.Urgent = first.Value.amount, first.Urgent
	return first.Value
}

func (s *slots) Used(t window.Ticket, n float64) {
	l := s.limiter()
	l.lock()
	now := l.now()
	l.gate.Used(now, l.moved(t), n)
	l.unlock(now)
}
