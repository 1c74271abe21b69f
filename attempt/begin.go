package attempt

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Begin asks the guards, waits for a slot and returns the attempt, which must be ended. After an error there is no
// attempt, and no guard waits for an end. The error is of the context, of a guard, or of the limiter. Number of the
// context is the attempt's number.
//
// If the context has a slot of the same limiter, the new attempt is part of the attempt with that slot: Begin asks
// no guard and does not wait.
func (r *Runner) Begin(ctx context.Context) (*Attempt, error) {
	return r.begin(ctx, &try{number: Number(ctx), asked: asked(ctx)})
}

// Next begins the next attempt after this attempt has failed and ended, for SDKs that decide themselves whether to
// try again. It backs off as aimd.Do does without a policy, less the time since the end. At the limiter's limit of
// attempts its error is ErrAttempts. Its other errors are the errors of Begin.
func (a *Attempt) Next(ctx context.Context) (*Attempt, error) {
	r := a.runner
	number := max(int(a.number), 1) // at least
	t := try{number: number + 1, again: true, asked: asked(ctx)}
	if r.Slots != nil {
		end := a.more()
		v := end.verdict
		v.Reason = nil // the caller has decided
		d := a.decide(Failure{Attempt: number, Verdict: v}, number, true, nil)
		if !d.Retry {
			return nil, d.Reason
		}
		t.delay, t.past = max(0, max(d.Delay, d.RetryAfter)-wall.Since(end.settled)), end.past
		t.verdict, t.err = v, end.refusal
	}
	return r.begin(ctx, &t)
}

type try struct {
	number int
	// again: the operation has failed before.
	again bool
	// delay comes before it waits for a slot.
	delay time.Duration
	// op, if it is not nil, hears before the delay that the guards have admitted it.
	op    Operation
	asked time.Duration
	// waits ends the wait, nil: the operation's context does.
	waits context.Context
	// Of the attempt before. A verdict on its err.
	past
	verdict verdict.Verdict
	err     error
}

// asked is the time if the context has a deadline, otherwise 0.
func asked(ctx context.Context) time.Duration {
	if _, bounded := ctx.Deadline(); !bounded {
		return 0
	}
	return now()
}

// start is the begin of the process. Times count from it, by the clock that nobody sets.
var start = wall.Now()

func now() time.Duration { return wall.Since(start) }

// begin begins an attempt. The guards come first: their refusal is reported before the delay.
func (r *Runner) begin(ctx context.Context, t *try) (*Attempt, error) {
	held, waits := r.Slots != nil && holds(ctx, r.Slots), ctx
	if t.waits != nil {
		waits = t.waits
	}
	if err := inTime(waits, t.delay); err != nil {
		return nil, err
	}
	// The attempt that holds the slot has asked the guards, but not for a retry within.
	guarded := len(r.Guards) > 0 && (!held || t.again)
	if guarded {
		// The guards do not count an operation that is over already.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := guards(r.Guards).admit(ctx, t.number); err != nil {
			return nil, err
		}
	}
	begun := false
	defer func() {
		if guarded && !begun {
			guards(r.Guards).ended(ctx, 0)
		}
	}()
	if t.op != nil {
		t.op.Between()
	}
	if held && t.again {
		run := t.run // a retry's alone goes to the heap
		slot, _ := ctx.Value(r.Slots).(window.Ticket)
		r.Slots.Again(slot, t.verdict, t.err, &run)
	}
	at, bounded := ctx.Deadline() // a context that panics has no slot yet
	ticket, err := r.wait(waits, t, held)
	if err != nil {
		return nil, err
	}
	begun = true
	a := &Attempt{runner: r, ctx: ctx, number: int32(t.number), asked: t.asked, guarded: guarded, owns: r.Slots != nil && !held, ticket: ticket}
	if r.Slots != nil && !r.Slots.Reached() {
		a.began = now()
	}
	if t.again {
		a.more().past = t.past
	}
	if bounded {
		a.patient = wall.Until(at) >= now()-t.asked
	}
	return a, nil
}

func inTime(ctx context.Context, delay time.Duration) error {
	if at, bounded := ctx.Deadline(); bounded && delay > 0 && wall.Until(at) < delay {
		return fmt.Errorf("the next attempt is due in %v: %w", delay, context.DeadlineExceeded)
	}
	return nil
}

func (r *Runner) wait(ctx context.Context, t *try, held bool) (window.Ticket, error) {
	if err := r.sleep(ctx, t.delay); err != nil {
		return window.Ticket{}, err
	}
	switch {
	case r.Slots == nil, held && !t.again:
		return window.Ticket{}, ctx.Err()
	case held:
		return window.Ticket{}, r.open(ctx)
	}
	return r.Slots.Take(ctx, t.number > 1, t.run)
}

// open reports that the context is over, or that the limiter is closed.
func (r *Runner) open(ctx context.Context) error {
	shut, reason := r.Slots.Closed()
	select {
	case <-shut:
		return reason
	default:
		return ctx.Err()
	}
}

func (r *Runner) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	var shut <-chan struct{} // never closed without a limiter
	var reason error
	if r.Slots != nil {
		shut, reason = r.Slots.Closed()
	}
	t := wall.Timer(d)
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

type guards []Guard

// admit asks the guards in order, up to the first that refuses, and then notifies the ones before it.
func (g guards) admit(ctx context.Context, number int) error {
	admitted := 0
	defer func() {
		if admitted < len(g) { // one refused, or panicked
			g[:admitted].ended(ctx, 0)
		}
	}()
	for _, guard := range g {
		if err := guard.Admit(ctx, number); err != nil {
			return err
		}
		admitted++
	}
	return nil
}

// ended notifies all guards of the end of an admitted attempt, also if one panics.
func (g guards) ended(ctx context.Context, o window.Outcome) {
	if len(g) == 0 {
		return
	}
	defer g[1:].ended(ctx, o)
	g[0].Ended(ctx, o)
}

// ownerKey is the key of the attempt that has a slot, in the context of its work.
type ownerKey struct{}

// Used says what the attempt of the context cost in fact, before its end: the tokens that its answer reports, for
// instance. It takes the place of the amount that the operation said (aimd.WithAmount). With aimd.Config.MaxAmountRate
// the next gap is longer by the difference, at most by MaxRetryAfter, or shorter. Any number but 0 to 1e12 has no effect,
// since a service may have said it. If attempts of several limiters contain one another, all limiters note it. Without
// an attempt it has no effect.
func Used(ctx context.Context, n float64) {
	for a, ok := ctx.Value(ownerKey{}).(*Attempt); ok; a, ok = a.ctx.Value(ownerKey{}).(*Attempt) {
		a.runner.Slots.Used(a.ticket, n)
	}
}

// numberKey is the key of the attempt's number in its context, an int.
type numberKey struct{}

// Number returns the number of the context's attempt within its operation, from 1; 0: not known. An attempt with a
// number of 2 or more is a retry: it waits for its slot at the front of the queue, behind other retries, without
// the queue's bound.
func Number(ctx context.Context) int {
	n, _ := ctx.Value(numberKey{}).(int)
	return n
}
