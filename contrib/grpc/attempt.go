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
	permit  limiter.Permit
	// impatient: the wait for the slot took more than half of the time from the
	// call to its deadline. If time runs out on such an attempt, that tells of the
	// queue and not of the service, and must not narrow the window: a narrower
	// window makes the queue slower still (metastable collapse). Half is our
	// choice, and httplimit's.
	impatient bool
}

// admit waits for a slot. Its error is a NotSentError.
func (d *door) admit(ctx context.Context) (attempt, error) {
	a := attempt{limiter: d.limiter}
	if d.limiter.HasSlot(ctx) {
		// Within Do or Each of the same limiter, which hears of the answer from
		// its function. The zero permit is released already.
		return a, nil
	}
	// Contexts keep real time, so this does too, whatever the limiter's clock.
	deadline, bounded := ctx.Deadline()
	var asked time.Time
	if bounded {
		asked = time.Now()
	}
	var err error
	if a.permit, err = d.limiter.Acquire(ctx); err != nil {
		return a, &NotSentError{Err: err}
	}
	a.impatient = bounded && time.Until(deadline) < deadline.Sub(asked)/2
	return a, nil
}

// end releases the slot, and tells what the attempt's error means; nil is a
// success.
func (a *attempt) end(err error) {
	v := limiter.Verdict{Outcome: limiter.Neutral}
	// Deferred, because the classifier may be the user's and panic. A second
	// release would be an error, but there is none.
	defer func() { _ = a.permit.Settle(v) }()
	v = a.limiter.Classify(err)
	if v.Outcome == limiter.Timeout && a.impatient {
		v.Outcome = limiter.Neutral
	}
}

// drop releases the slot of an attempt that says nothing about load.
func (a *attempt) drop() { _ = a.permit.Done(limiter.Neutral) }
