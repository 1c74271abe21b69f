package attempt

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Attempt is one attempt that its guards have admitted and that has a slot. It
// ends with the first call of End or Drop; later ones do nothing. Runner.Begin
// makes it.
//
// End and Drop are safe for any number of goroutines; the other methods are
// called by one, before either.
type Attempt struct {
	runner *Runner
	// ctx is the caller's.
	ctx context.Context
	// limited is ctx with the attempt's own timeout, nil if there is none.
	limited context.Context
	cancel  context.CancelFunc

	// slots is where ticket is from; nil: the attempt took no slot.
	slots  Slots
	ticket window.Ticket
	// number is the attempt's within its operation, 0: not known.
	number int
	// asked is when the operation was, the zero time if it has no deadline.
	asked time.Time
	// began is when the attempt did, the zero time once the service has answered.
	began time.Time
	// patient: the attempt had at least half of the time from asked to the
	// deadline; the wait for the slot had the rest. If time runs out on a patient
	// attempt, that tells of the service. If it runs out on another, it tells of
	// the queue, and must not narrow the window: a narrower window makes the
	// queue slower still (metastable collapse). Half is our choice.
	patient bool
	// guarded: the runner's guards have admitted it.
	guarded bool

	// heard: an answer began.
	heard bool
	ended atomic.Bool
	// result is what the attempt came to, before its end what the head of its answer
	// says; settled is when it ended, unless it is a success.
	result  Verdict
	settled time.Time
}

// Context is the caller's context with what others ask of an attempt: that it
// has its slot, so that what is begun within takes no other, and its number.
func (a *Attempt) Context() context.Context {
	if a.limited != nil {
		return a.limited
	}
	return (*scope)(a)
}

// limit gives the attempt a time of its own, if d is positive.
func (a *Attempt) limit(d time.Duration) {
	if d > 0 {
		a.limited, a.cancel = a.runner.clock().WithTimeout((*scope)(a), d)
	}
}

// Answered tells that an answer began whose end comes later, with End or Drop,
// and what its head says: nil is a success. A body that breaks off is then still
// something that the service answered. It returns what the head comes to.
func (a *Attempt) Answered(err error) Verdict {
	v := Verdict{Outcome: window.Success}
	if err != nil {
		v = a.judged(err)
		a.suspect(v, err)
	}
	a.result, a.heard = v, true
	a.contact(true, nil)
	return v
}

// End ends the attempt: it classifies the error, gives the slot back and tells the
// guards. nil is a success, or what Answered was told. It returns what the
// attempt came to, the zero Verdict if it had ended before. If the classifier
// panics the attempt ends as with Drop, and the panic goes on.
func (a *Attempt) End(err error) Verdict {
	if a.ended.Swap(true) {
		return Verdict{}
	}
	v := Verdict{Outcome: window.Neutral}
	var told window.Outcome
	defer func() { a.settle(v, told) }()
	v = a.verdict(err)
	if told = v.Outcome; told == window.Neutral && !a.heard && (a.over() != nil || unanswered(err)) {
		told = 0
	}
	v = a.noted(v, err)
	return v
}

// Drop ends an attempt of which nothing more will be learned: neutral, unless
// Answered was told of an overload. After an end it does nothing.
func (a *Attempt) Drop() {
	if a.ended.Swap(true) {
		return
	}
	v, told := Verdict{Outcome: window.Neutral}, window.Outcome(0)
	if a.heard {
		if a.result.Outcome.Overloaded() {
			v = a.result
		}
		told = v.Outcome
	}
	a.settle(v, told)
}

// settle gives the slot back and tells the guards.
func (a *Attempt) settle(v Verdict, told window.Outcome) {
	if a.cancel != nil {
		a.cancel()
	}
	if a.result = v; v.Outcome != window.Success {
		a.settled = a.runner.clock().Now()
	}
	if a.slots != nil {
		a.slots.Settle(a.ticket, v)
	}
	if a.guarded {
		guards(a.runner.Guards).ended(a.ctx, told)
	}
}

func (a *Attempt) verdict(err error) Verdict {
	switch {
	case err == nil && a.heard:
		return a.result
	case err == nil:
		return Verdict{Outcome: window.Success}
	case a.heard && a.result.Outcome.Overloaded():
		return a.result // how a refusal broke off is no news
	}
	return a.judged(err)
}

// judged is what the classifier says of the error; where that is no more than that
// time ran out, or nothing, it is read in the light of whose time that was.
func (a *Attempt) judged(err error) Verdict {
	v := a.runner.classify(err)
	if !v.Outcome.Valid() || v.Outcome == window.Timeout || v.Outcome == window.Neutral && ofContext(err) && !unsent(err) {
		v = a.timed(v)
	}
	if !v.Outcome.Valid() {
		return Verdict{Outcome: window.Neutral}
	}
	return v
}

// timed is the verdict by whose time ran out; v if nobody's did.
func (a *Attempt) timed(v Verdict) Verdict {
	switch over := a.over(); {
	case over == nil && a.limited != nil && a.passed(a.limited) != nil:
		return Verdict{Outcome: window.Timeout, Retry: true, RetryAfter: v.RetryAfter}
	case over == nil:
		return v
	case a.patient && errors.Is(over, context.DeadlineExceeded):
		return Verdict{Outcome: window.Timeout}
	}
	return Verdict{Outcome: window.Neutral}
}

// over is why the caller's context is over, nil if it is not.
func (a *Attempt) over() error { return a.passed(a.ctx) }

// passed is why a context is over, nil if it is not. It goes by the context and
// not by an attempt's error: that may be any, see context.Cause. What watches
// the deadline by itself (a socket, http.Client.Timeout) may fail a little
// before the context's end is to be seen.
func (a *Attempt) passed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, bounded := ctx.Deadline(); bounded && !a.runner.clock().Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}
