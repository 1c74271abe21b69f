package aimdgrpc

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

// door is what a client's interceptors have in common.
type door struct {
	limiter *limiter.Limiter
}

func newDoor(l *limiter.Limiter) *door {
	if l == nil {
		panic("aimdgrpc: the limiter is nil")
	}
	return &door{limiter: l}
}

// attempt is a call, or a stream's message, that got its slot. Whoever has it
// ends it, once.
type attempt struct {
	limiter *limiter.Limiter
	// guards have admitted the attempt; nil: none was asked.
	guards limiter.Guards
	permit limiter.Permit
	ctx    context.Context
	// impatient: the wait for the slot took more than half of the time from the
	// call to its deadline. If time runs out on such an attempt, that tells of the
	// queue and not of the service, and must not narrow the window: a narrower
	// window makes the queue slower still (metastable collapse). Half is our
	// choice, and httplimit's.
	impatient bool
}

// admit asks the limiter's guards, and waits for a slot, at the front of the
// queue if the number says that this is a retry. Its error is a NotSentError.
func (d *door) admit(ctx context.Context, number int) (attempt, error) {
	a := attempt{limiter: d.limiter, ctx: ctx}
	if d.limiter.HasSlot(ctx) {
		// Within Do or Each of the same limiter, which asked the guards, and hears
		// of the answer from its function. The zero permit is released already.
		return a, nil
	}
	// Contexts keep real time, so this does too, whatever the limiter's clock.
	deadline, bounded := ctx.Deadline()
	var asked time.Time
	if bounded {
		asked = time.Now()
	}
	if err := a.admit(number); err != nil {
		return a, &NotSentError{Err: err}
	}
	a.impatient = bounded && time.Until(deadline) < deadline.Sub(asked)/2
	return a, nil
}

func (a *attempt) admit(number int) error {
	// A call that is over already is no business of the guards.
	if err := a.ctx.Err(); err != nil {
		return err
	}
	guards := a.limiter.Guards()
	if err := guards.Admit(a.ctx, number); err != nil {
		return err
	}
	begun := false
	defer func() {
		if !begun { // or the limiter's observer panicked
			guards.Ended(a.ctx, 0)
		}
	}()
	acquire := a.limiter.Acquire
	if number > 1 {
		acquire = a.limiter.Reacquire
	}
	p, err := acquire(a.ctx)
	begun = err == nil
	a.permit, a.guards = p, guards
	return err
}

// end releases the slot, and tells what the attempt's error means; nil is a
// success.
func (a *attempt) end(err error) {
	var v limiter.Verdict
	classified := false
	// Deferred, because the classifier may be the user's and panic.
	defer func() {
		if !classified {
			a.drop()
			return
		}
		defer a.guards.Settle(a.ctx, v, err) // whatever the limiter's observer does
		// A second release would be an error, but there is none.
		_ = a.permit.Settle(v)
	}()
	v = a.limiter.Classify(err)
	if v.Outcome == limiter.Timeout && a.impatient {
		v.Outcome = limiter.Neutral
	}
	classified = true
}

// drop releases the slot of an attempt of which the service said nothing.
func (a *attempt) drop() {
	defer a.guards.Ended(a.ctx, 0) // whatever the limiter's observer does
	_ = a.permit.Done(limiter.Neutral)
}
