package attempt

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Begin asks the guards and waits for a slot. number is the attempt's within its
// operation: 1 for the first, 0 if it is not known (see Number); a retry waits at
// the front of the queue. Its error is that of the context, of a guard or of the
// limiter, and nothing was begun then.
//
// Where ctx holds a slot of the runner already, the attempt is part of
// the one that took it: Begin asks nobody and waits for nothing.
func (r *Runner) Begin(ctx context.Context, number int) (*Attempt, error) {
	return r.begin(ctx, try{number: number, asked: r.asked(ctx)})
}

// Next begins the attempt after this one, which has ended with a failure, for
// integrations whose SDK decides that there is one. It backs off first as a
// limiter's Do does without a policy, less the time that passed since the end:
// an SDK has delays of its own. ctx is that of the new attempt. At the limiter's limit of
// attempts its error is ErrAttempts.
func (a *Attempt) Next(ctx context.Context) (*Attempt, error) {
	r := a.runner
	number := max(a.number, 1) // at least
	t := try{number: number + 1, again: true, asked: r.asked(ctx)}
	if r.Slots != nil {
		if most, _ := r.Slots.Limits(); most > 0 && number >= most {
			return nil, ErrAttempts
		}
		d := r.Slots.RetryDelay(number, a.result.Outcome, a.result.RetryAfter)
		t.delay = max(0, d-r.clock().Since(a.settled))
	}
	return r.begin(ctx, t)
}

// try is what is to be begun.
type try struct {
	number int
	// again: the operation has failed before.
	again bool
	// delay comes before it waits for a slot.
	delay time.Duration
	// asked is as in Attempt.
	asked time.Time
}

// asked is the time, if the context has a deadline.
func (r *Runner) asked(ctx context.Context) time.Time {
	if _, bounded := ctx.Deadline(); !bounded {
		return time.Time{}
	}
	return r.clock().Now()
}

// begin begins an attempt. The guards come first: what they refuse is told at
// once, not after the delay.
func (r *Runner) begin(ctx context.Context, t try) (*Attempt, error) {
	held := r.Slots != nil && holds(ctx, r.Slots)
	if err := r.inTime(ctx, t.delay); err != nil {
		return nil, err
	}
	// The attempt that holds the slot has asked them, but not for a retry within.
	guarded := len(r.Guards) > 0 && (!held || t.again)
	if guarded {
		// An operation that is over already is none of the guards' business.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := guards(r.Guards).admit(ctx, t.number); err != nil {
			return nil, err
		}
	}
	ticket, err := r.wait(ctx, t, held)
	if err != nil {
		if guarded {
			guards(r.Guards).ended(ctx, 0)
		}
		return nil, err
	}
	a := &Attempt{runner: r, ctx: ctx, number: t.number, asked: t.asked, guarded: guarded}
	if r.Slots != nil && !held {
		a.slots, a.ticket = r.Slots, ticket
	}
	if r.Slots != nil && !r.Slots.Reached() {
		a.began = r.clock().Now()
	}
	if at, bounded := ctx.Deadline(); bounded {
		a.patient = r.clock().Until(at) >= at.Sub(t.asked)/2
	}
	return a, nil
}

// inTime reports that the context's deadline comes before the next attempt: to
// wait for the deadline would help nobody.
func (r *Runner) inTime(ctx context.Context, delay time.Duration) error {
	if at, bounded := ctx.Deadline(); bounded && delay > 0 && r.clock().Until(at) < delay {
		return fmt.Errorf("the next attempt is due in %v: %w", delay, context.DeadlineExceeded)
	}
	return nil
}

// wait waits for the delay and then for a slot, if one is needed.
func (r *Runner) wait(ctx context.Context, t try, held bool) (window.Ticket, error) {
	if err := r.sleep(ctx, t.delay); err != nil {
		return window.Ticket{}, err
	}
	switch {
	case r.Slots == nil, held && !t.again:
		return window.Ticket{}, ctx.Err()
	case held:
		return window.Ticket{}, r.open(ctx)
	}
	return r.Slots.Take(ctx, t.number > 1)
}

// open reports that the context is over, or that the limiter was closed: an
// operation under a slot of it is then not tried again either.
func (r *Runner) open(ctx context.Context) error {
	shut, reason := r.Slots.Closed()
	select {
	case <-shut:
		return reason
	default:
		return ctx.Err()
	}
}

// sleep waits out a delay, without a slot.
func (r *Runner) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	var shut <-chan struct{} // without a limiter nobody closes it
	var reason error
	if r.Slots != nil {
		shut, reason = r.Slots.Closed()
	}
	t := r.clock().Timer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-shut:
		return reason
	}
}
