package aimd

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/line"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// turn is the operation whose turn it is, nil if none waits. It sends away those before it that are too late.
func (l *Limiter) turn(now time.Duration) *waiter {
	w := l.front()
	if w == nil || w.Deadline == 0 && !w.Silent || l.shadow() {
		return w
	}
	if !l.timed() {
		now = l.now()
	}
	for {
		next, v := l.line.Turn(now, l.gate.State())
		if next == nil {
			return nil
		}
		if w = next.Value; v == line.Goes {
			l.gate.Amount, l.gate.Urgent = w.amount, w.Urgent
			return w
		}
		w.dismissed = l.notSent(now, w, v)
		l.line.Remove(next)
		l.tooLate(now, w.dismissed)
		l.woken.add(w)
	}
}

func (l *Limiter) notSent(now time.Duration, w *waiter, v line.Verdict) error {
	left := roughly(max(0, w.Deadline-now))
	if v == line.Last {
		return fmt.Errorf("%s left, and %d go before: %w", left, l.line.Before(&w.Waiter), context.DeadlineExceeded)
	}
	return fmt.Errorf("%s left, answers take %s: %w", left, roughly(l.line.Trip()), context.DeadlineExceeded)
}

func (l *Limiter) tooLate(now time.Duration, err error) {
	l.counts.TooLate++
	l.noteDoubled(now, Event{Kind: event.TooLate, Count: l.counts.TooLate, Err: err})
}

// answers is the number of the latest answers of which the longest is kept. With 16 a caller that asks five at once,
// and cancels four, has a narrower window; with the mean answer in place of the longest a quarter of it.
const answers = 64

// ended notes the end of an attempt for those that wait, and returns its outcome. err is why, if its caller ended it.
// While callers leave who do not say when, an attempt that was left after a longer time than any answer of late took is
// unclear: all may hang.
func (l *Limiter) ended(t window.Ticket, o window.Outcome, v verdict.Verdict, err error) window.Outcome {
	if l.line.Len() == 0 || !l.gate.Has(t) {
		return o
	}
	urgent, silent := l.gate.IsUrgent(t), err == context.Canceled // no method of an error is called under the lock
	if v.Meaning != answer.Final || !silent && err != context.DeadlineExceeded {
		l.line.Ended(urgent)
		return o
	}
	now := l.now()
	l.line.CutOff(now, urgent, silent)
	if silent && l.longest > 0 && now-l.gate.SentAt(t) > l.longest && l.line.Leaving(now, urgent) {
		return window.Unclear
	}
	return o
}

// opened says that one attempt more than the window has room for was sent, since nothing but open answers is in flight: once, and
// when their number has doubled.
func (l *Limiter) opened(now, quiet time.Duration) {
	if open := uint64(l.gate.Flying() - 1 + l.gate.Outside()); open >= 2*l.told {
		l.told = open
		l.note(now, Event{Kind: event.Open, Count: open, Wait: quiet})
	}
}
