package attempt

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
)

// Runner is what the attempts of a client go by. It begins single attempts, for
// integrations, and runs whole operations: attempt after attempt, until one
// succeeds or there is a reason to stop.
//
// It is safe for any number of goroutines as long as nobody changes it. The zero
// value makes one attempt of each operation, at once.
type Runner struct {
	// Slots is the limiter; nil: none.
	Slots Slots
	// Policy decides what is tried again; nil: with Slots, what the classifier
	// says may be, else nothing.
	Policy Policy
	// Guards are asked before each attempt, before the delay that precedes it.
	Guards []Guard
	// Classifier tells what an attempt's error means; nil: Classify.
	Classifier Classifier
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
	// AttemptTimeout ends the context of a single attempt of Do; 0: none. With
	// Slots it is theirs that holds.
	AttemptTimeout time.Duration
}

// wall is the real clock.
var wall = clock.New()

func (r *Runner) clock() clock.Clock {
	if r.Clock == nil {
		return wall
	}
	return r.Clock
}

func (r *Runner) classify(err error) Verdict {
	if r.Classifier == nil {
		return Classify(err)
	}
	return r.Classifier(err)
}

// Do runs fn as one operation. It returns nil once fn did, else an *Error that
// tells how often fn ran, why it was given up and what its last error was. It
// gives up at once when the context's deadline comes before the next attempt.
// If fn panics the slot is given back, the guards are told, and the panic goes on.
func (r *Runner) Do(ctx context.Context, fn func(context.Context) error) error {
	a, err := r.Begin(ctx, 1)
	if err != nil {
		return &Error{Reason: err}
	}
	return a.Run(fn)
}

// Run runs fn as the operation whose first attempt this is. See Runner.Do.
func (a *Attempt) Run(fn func(context.Context) error) error {
	r, ctx := a.runner, a.ctx
	t := try{number: 1, again: true, asked: a.asked}
	f := Failure{}
	var began time.Time
	if r.Policy != nil {
		began = r.clock().Now() // nobody else wants to know
	}
	for f.Attempt = 1; ; f.Attempt++ {
		f.Verdict, f.Err = a.call(fn)
		if f.Err == nil {
			return nil
		}
		if over := ctx.Err(); over != nil {
			return &Error{Attempts: f.Attempt, Reason: over, Cause: f.Err}
		}
		d := a.decide(f, began)
		if !d.Retry {
			return &Error{Attempts: f.Attempt, Reason: d.Reason, Cause: f.Err}
		}
		f.Last, t.delay, t.number = d.Delay, max(d.Delay, d.RetryAfter), f.Attempt+1
		next, reason := r.begin(ctx, t)
		if reason != nil {
			return &Error{Attempts: f.Attempt, Reason: reason, Cause: f.Err}
		}
		a = next
	}
}

// call makes the attempt.
func (a *Attempt) call(fn func(context.Context) error) (Verdict, error) {
	// Only a panic in fn, or an exit of the goroutine, finds it not ended.
	defer a.Drop()
	timeout := a.runner.AttemptTimeout
	if s := a.runner.Slots; s != nil {
		_, timeout = s.Limits()
	}
	a.limit(timeout)
	err := fn(a.Context())
	return a.End(err), err
}

// decide is Decide for the operation of this attempt, which failed.
func (a *Attempt) decide(f Failure, began time.Time) Decision {
	r := a.runner
	var policy func(Failure) Decision
	if r.Policy != nil {
		f.Elapsed = r.clock().Now().Sub(began)
		policy = func(f Failure) Decision { return r.Policy.Decide(a.ctx, f) }
	}
	if r.Slots == nil {
		return Decide(f, policy, nil, 0)
	}
	most, _ := r.Slots.Limits()
	if a.slots == nil {
		return Decide(f, policy, unpaced{r.Slots}, most)
	}
	return Decide(f, policy, r.Slots, most)
}
