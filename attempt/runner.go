package attempt

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/reason"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Runner begins single attempts, for integrations, and runs whole operations: a limiter, a retry policy and a throttle
// each have one. It is safe for any number of goroutines as long as it is not changed. The zero value makes one attempt
// of each operation, at once.
type Runner struct {
	// Slots is the limiter, or nil.
	Slots Slots
	// Policy decides on another attempt. Without a Policy the verdicts decide; without Slots too, there is no other
	// attempt.
	Policy Policy
	// Guards are asked before each attempt, before the delay that precedes it.
	Guards []Guard
	// Classifier reads an attempt's error; nil means Classify.
	Classifier verdict.Classifier
	// AttemptTimeout ends the context of a single attempt of Do; 0: no limit. With Slots, their Limits count.
	AttemptTimeout time.Duration
}

var wall = clock.New()

// soon is the longest Retry-After without a limiter.
const soon = 5 * time.Minute

// Do runs fn as one operation, as aimd.Limiter.Do.
func (r *Runner) Do(ctx context.Context, fn func(context.Context) error) error {
	a, err := r.begin(ctx, &try{number: 1, asked: asked(ctx)})
	if err != nil {
		return &Error{Reason: err}
	}
	return a.Run(fn, nil)
}

// Operation is work of one or more attempts whose answers may still be open, as in HTTP: see Attempt.Drive.
type Operation interface {
	// Try makes an attempt, and ends it or leaves that to the body of its answer.
	Try(a *Attempt) (verdict.Verdict, error)
	// Between is called before the wait for another attempt. It ends the attempt before, if a body holds it.
	Between()
}

// function is an operation whose attempt ends when the function returns.
type function func(context.Context) error

func (fn function) Try(a *Attempt) (verdict.Verdict, error) {
	timeout := a.runner.AttemptTimeout
	if s := a.runner.Slots; s != nil {
		timeout = s.Limits().Timeout
	}
	a.limit(timeout)
	err := fn(a.Context())
	return a.End(err), err
}

func (function) Between() {}

// Run runs fn as an operation that begins with this attempt, as aimd.Do does. If aside is not nil, nobody waits for the
// operation, as for an item of aimd.Each: it is given up later. aside is called with 1 when it goes aside, and with -1
// when it ends then.
func (a *Attempt) Run(fn func(context.Context) error, aside func(n int)) error {
	return a.drive(function(fn), nil, 0, aside)
}

// Drive runs an operation that begins with this attempt, as Runner.Do. If the runner has no policy, may decides
// whether there is another attempt, and if not, the reason. With a nil may the verdict decides. If the context has no deadline,
// no wait for a further attempt lasts until so long after the first one began; 0: no bound.
func (a *Attempt) Drive(op Operation, may func(context.Context, Failure) (bool, error), patience time.Duration) error {
	return a.drive(op, may, patience, nil)
}

func (a *Attempt) drive(op Operation, may func(context.Context, Failure) (bool, error), patience time.Duration, aside func(n int)) error {
	r, ctx := a.runner, a.ctx
	a.number = max(a.number, 1)
	t := try{again: true, op: op, asked: a.asked}
	var policy func(Failure) Decision
	if r.Policy != nil {
		policy, may, patience = func(f Failure) Decision { return r.Policy.Decide(ctx, f) }, nil, 0
	}
	var began time.Time
	if policy != nil || may != nil || patience > 0 {
		began = wall.Now()
	}
	taken := 0              // the number of the last attempt of which the service took a part
	var forgotten time.Time // since when the name is not found; zero if it is
	for f := (Failure{Attempt: 1}); ; f.Attempt++ {
		f.Verdict, f.Err = a.attempted(op)
		if f.Err == nil {
			return nil
		}
		if over := passed(ctx); over != nil {
			return &Error{Attempts: f.Attempt, Reason: over, Cause: f.Err}
		}
		if !began.IsZero() {
			f.Elapsed = wall.Since(began)
		}
		again := !a.gone(&forgotten) && f.Verdict.Retry()
		if may != nil && f.Verdict.Reason == nil {
			again, f.Verdict.Reason = may(ctx, f)
		}
		a.more().run.Patient = aside != nil
		if f.Verdict.Meaning == answer.Partly || f.Verdict.Meaning == answer.Mostly {
			taken = f.Attempt
		}
		d := a.decide(f, f.Attempt-taken, again, policy)
		if !d.Retry {
			return &Error{Attempts: f.Attempt, Reason: d.Reason, Cause: f.Err}
		}
		f.Last, t.delay, t.number = d.Delay, max(d.Delay, d.RetryAfter), f.Attempt+1
		t.verdict, t.err = f.Verdict, f.Err
		was, _ := t.run.Aside()
		if t.past = a.rest.past; aside != nil && !was {
			if is, _ := t.run.Aside(); is {
				aside(1)
				defer aside(-1)
			}
		}
		if _, bounded := ctx.Deadline(); patience > 0 && t.waits == nil && !bounded {
			waits, cancel := wall.WithDeadline(ctx, began.Add(patience))
			defer cancel()
			t.waits = waits
		}
		next, reason := r.begin(ctx, &t)
		if reason != nil {
			return &Error{Attempts: f.Attempt, Reason: reason, Cause: f.Err}
		}
		a = next
	}
}

// gone reports that the name of a service that was there is not found for MaxRetryAfter: one of several services is gone
// for good. since is the begin of that time.
func (a *Attempt) gone(since *time.Time) bool {
	switch {
	case !a.more().forgotten:
		*since = time.Time{}
	case since.IsZero():
		*since = wall.Now()
	default:
		return wall.Since(*since) >= a.runner.Slots.Limits().MaxRetryAfter
	}
	return false
}

func (a *Attempt) attempted(op Operation) (verdict.Verdict, error) {
	returned := false
	defer func() {
		if !returned { // a panic, or an exit of the goroutine
			a.Drop()
		}
	}()
	v, err := op.Try(a)
	returned = true
	return v, err
}

// decide is Limits.Decide for the operation of this attempt, which failed for so many times in a row.
func (a *Attempt) decide(f Failure, failures int, again bool, policy func(Failure) Decision) Decision {
	r, run := a.runner, &a.more().run
	if again && policy == nil && f.Verdict.Reason == nil && run.Ends() {
		return Decision{Reason: reason.ErrOwnFault}
	}
	if a.spent(f.Verdict) {
		return Decision{Reason: fmt.Errorf("%w: no other answer for %v", reason.ErrQuota, r.longest())}
	}
	if r.Slots == nil { // only a policy tries again
		return Limits{}.Decide(f, false, policy, Waits{Backoffs: f.Attempt})
	}
	last := f.Verdict.Outcome()
	if !a.owns { // within another's slot: no window paces it
		last = window.Neutral
	}
	d := r.Slots.Limits().Decide(f, again, policy, r.Slots.Waits(failures, last, f.Verdict, run))
	d.Delay = r.Slots.InContact(d.Delay)
	return d
}

// spent reports that the operation got nothing but refusals that are guessed, for as long as the longest Retry-After.
func (a *Attempt) spent(v verdict.Verdict) bool {
	if v.Meaning != answer.Guessed {
		if a.rest != nil {
			a.rest.guessed = time.Time{}
		}
		return false
	}
	r, now := a.more(), wall.Now()
	if r.guessed.IsZero() {
		r.guessed = now
	}
	return now.Sub(r.guessed) >= a.runner.longest()
}

func (r *Runner) longest() time.Duration {
	if r.Slots != nil {
		return r.Slots.Limits().MaxRetryAfter
	}
	return soon
}
