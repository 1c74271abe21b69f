package aimd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/line"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Acquire waits for a slot, at the end of the queue. Its errors are ErrClosed, ErrQueueFull, and
//   - an error that wraps ctx.Err(), if the context ends first, or its deadline comes before the end of a pause, or
//     leaves too little time for an attempt;
//   - an error that wraps ErrWait, if the pause lasts for longer than MaxWait, or ErrQuota, if the wait for a quota
//     does;
//   - a setting.Error, if the amount of ctx is not allowed (WithAmount);
//   - another error, if ctx belongs to an attempt that has a slot of this limiter, for instance within Do: a wait
//     for a second slot could last for ever.
//
// A client that tries again uses Begin.
func (l *Limiter) Acquire(ctx context.Context) (Permit, error) {
	if l.holds(ctx) {
		return Permit{}, errHasSlot
	}
	return l.acquire(ctx, place{})
}

// TryAcquire takes a slot if a slot is free and no operation waits.
func (l *Limiter) TryAcquire() (Permit, bool) { return l.try(wants{}) }

func (l *Limiter) try(of wants) (Permit, bool) {
	var t window.Ticket
	l.lock()
	now, ok := l.time(), false
	if !l.closed && l.line.Len() == 0 {
		l.gate.Amount, l.gate.Urgent = of.amount, of.urgent
		t, ok = l.gate.Tried(now)
		l.held(now, t)
	}
	l.unlock(now)
	return Permit{l, t}, ok
}

// place is where an operation waits: a new one at the end of the queue. retry: at its front. aside: in the second
// queue, and if it failed there before, first.
type place struct{ retry, aside, first bool }

func (l *Limiter) acquire(ctx context.Context, at place) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	of := wanted(ctx)
	if err := l.allowed(&of); err != nil {
		return Permit{}, err
	}
	if p, ok := l.try(of); ok {
		return p, nil
	}
	done := ctx.Done()             // a context that panics is not in the queue yet
	w := l.waiters.Get().(*waiter) // not under the lock
	w.amount, w.Urgent = of.amount, of.urgent
	if end, bounded := ctx.Deadline(); bounded {
		w.Deadline = max(1, end.Sub(l.made))
	}
	if w.Silent = done != nil && w.Deadline == 0; w.Silent || w.Deadline != 0 || l.config.Observer != nil {
		w.Since = l.now()
	}
	l.lock()
	if w.Deadline != 0 {
		l.gate.Measure() // before the time is asked, which is of what is sent
	}
	now := l.time()
	if err := l.enqueue(w, at, now); err != nil {
		l.unlock(now)
		l.recycle(w)
		return Permit{}, err
	}
	l.unlock(now) // admits it if a slot was released meanwhile
	return l.wait(ctx, done, w)
}

func (l *Limiter) enqueue(w *waiter, at place, now time.Duration) error {
	if l.closed {
		return ErrClosed
	}
	if l.front() == nil || (at.retry || w.Urgent) && !at.aside {
		l.gate.Amount = w.amount
	}
	if err := l.hopeless(now, w); err != nil {
		return err
	}
	switch {
	case at.aside:
		l.line.PutAside(&w.Waiter, at.first)
	case at.retry:
		l.line.PutBack(&w.Waiter)
	case !l.line.Push(&w.Waiter):
		l.note(now, Event{Kind: event.Full})
		return ErrQueueFull
	}
	return nil
}

func (l *Limiter) wait(ctx context.Context, done <-chan struct{}, w *waiter) (Permit, error) {
	if done == nil {
		<-w.ready // a context that cannot end: half the cost of a select
	} else {
		select {
		case <-w.ready:
		case <-done:
			return Permit{}, l.leave(ctx, w)
		}
	}
	t, err := w.ticket, w.dismissed
	l.recycle(w)
	if err != nil {
		return Permit{}, err
	}
	return Permit{l, t}, nil
}

// leave takes a waiter whose context ended out of the queue, and returns the error of its caller.
func (l *Limiter) leave(ctx context.Context, w *waiter) error {
	l.lock()
	now := l.time()
	waiting, place, cwnd := l.line.Len(), l.line.Place(&w.Waiter), l.gate.State().Cwnd
	waits := l.line.Remove(&w.Waiter)
	if waits && w.Silent {
		l.line.Left(l.now(), &w.Waiter)
	}
	l.unlock(now)
	if !waits {
		if <-w.ready; w.dismissed == nil {
			// Its turn came at the same moment: the slot goes on as if it had never been given.
			l.lock()
			l.gate.Withdrawn(w.ticket)
			l.unlock(l.time())
		}
	}
	err := cmp.Or(w.dismissed, ctx.Err()) // only now: a context that panics has left
	if waits && err == context.DeadlineExceeded && w.Deadline != 0 {
		l.lock()
		now = l.now()
		l.line.Left(now, &w.Waiter)
		err = fmt.Errorf("waited %s in the queue, place %d of %d, window %s: %w", roughly(now-w.Since), place, waiting, number(cwnd), err)
		l.tooLate(now, err)
		l.unlock(now)
	}
	l.recycle(w)
	return err
}

func (l *Limiter) recycle(w *waiter) {
	w.ticket, w.dismissed, w.Deadline, w.amount, w.Urgent = window.Ticket{}, nil, 0, 0, false
	l.waiters.Put(w)
}

// waiter is one goroutine that found no free slot. Waiters are reused. Its Since is the time when it began to wait, for an
// observer, a deadline or one that may leave; its Deadline is the context's. Both count since the limiter was made.
type waiter struct {
	line.Waiter[*waiter]
	// ready gets one signal, after ticket or dismissed is set and the lock released.
	ready  chan struct{}
	ticket window.Ticket
	// amount is what its operation says that it costs; 0: not said.
	amount float64
	// dismissed is why it gets no slot: the limiter was closed, or the wait cannot be met.
	dismissed error
	next      *waiter
}

func newWaiter() any {
	w := &waiter{ready: make(chan struct{}, 1)}
	w.Value = w
	return w
}

// woken are waiters that get their signal after the unlock, in this order.
type woken struct{ first, last *waiter }

func (all *woken) add(w *waiter) {
	if all.first == nil {
		all.first = w
	} else {
		all.last.next = w
	}
	all.last = w
}

func (all woken) wake() {
	for w := all.first; w != nil; {
		next := w.next
		w.next = nil
		w.ready <- struct{}{}
		w = next
	}
}

// Permit is the right to make one attempt, and the duty to report its end: exactly one call of End. It is a
// small value; copies are the same permit. The zero Permit is released already.
type Permit struct {
	l *Limiter
	t window.Ticket
}

// End releases the permit with the classifier's verdict on the attempt's error, and returns the verdict: whether
// another attempt may succeed, and when. nil is a success. A second call releases nothing, and counts as late. An
// error that the classifier does not know is neutral and final. If the classifier panics, the permit is released
// all the same, and the panic continues.
func (p Permit) End(err error) verdict.Verdict {
	if err == nil {
		p.release(window.Success, verdict.Verdict{}, nil, nil)
		return verdict.Verdict{Meaning: answer.Success}
	}
	v, why := verdict.Verdict{Meaning: answer.Final}, err
	defer func() { p.release(p.l.taken(v), v, why, nil) }() // after a panic of the classifier too
	if p.l != nil && p.l.config.Classifier != nil {
		v = p.l.config.Classifier(err)
	} else {
		v = verdict.Classify(err)
	}
	v.Meaning = cmp.Or(v.Meaning, answer.Final)
	for _, over := range [...]error{context.Canceled, context.DeadlineExceeded} {
		if v.Meaning == answer.Final && errors.Is(err, over) {
			why = over
		}
	}
	return v
}

// release ends the permit with the outcome of an attempt that failed with err, and its verdict. run is that of its
// operation, or nil.
func (p Permit) release(o window.Outcome, v verdict.Verdict, err error, run *limiter.Run) {
	l := p.l
	if l == nil {
		return
	}
	l.lock()
	l.unlock(l.answered(p.t, o, v, err, run))
}

// answered is release under the lock. It returns the time, if it was needed.
func (l *Limiter) answered(t window.Ticket, o window.Outcome, v verdict.Verdict, err error, run *limiter.Run) (now time.Duration) {
	stop := v.Meaning == answer.Stopped
	o = l.ended(t, o, v, err)
	if o.Overloaded() || o == window.Unclear || stop || l.timed() {
		now = l.now()
	}
	before, gap, paused := l.gate.State().Cwnd, l.gate.Gap(), l.gate.PausedUntil()
	if o.Accepted() && !l.contact.made.Load() {
		l.contact.made.Store(true)
	}
	heard := o
	if l.gate.Has(t) && !l.gate.Left(t) {
		heard = l.gate.Heard(run, o)
	}
	held, cause := l.gate.IsHeld(t), ""
	a, ok := l.gate.Answered(now, t, heard, v.Wait)
	if !ok {
		l.counts.Late++
		l.note(now, Event{Kind: event.Late})
		return now
	}
	if o == window.Unclear {
		o = a.Outcome // as the gate took it
	}
	if o.Accepted() {
		l.longest = max(a.RTT, l.longest-l.longest/answers)
	}
	l.counts.count(o)
	if o != window.Success {
		l.unknown(now, o, v, err)
	}
	if held && a.Outcome.Overloaded() {
		cause = above
	}
	kind := event.Answered
	if a.Outcome.Overloaded() && !a.Ignored {
		kind, l.narrowed = event.Cut, false
	}
	if a.Outcome.Overloaded() && l.gate.State().Cwnd < before && !l.narrowed { // the first refusals of a burst may be chance
		l.narrowed = true
		l.counts.Cuts++
	}
	if l.config.Observer != nil || kind == event.Cut || moved(before, l.gate.State().Cwnd) {
		l.note(now, Event{Kind: kind, Cause: cause, Before: before, GapBefore: gap, Outcome: o, RTT: a.RTT, RetryAfter: v.Wait})
	}
	if stop && a.Outcome.Overloaded() { // a refusal for a quota closes the quota instead
		l.gate.Stopped(now, v.Wait)
	}
	if until := l.gate.PausedUntil(); until > paused {
		l.paused(now, until-now, v, err)
	}
	return now
}
