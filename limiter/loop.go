package limiter

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"
)

// Loop runs operations: attempt after attempt, until one succeeds or there is a
// reason to stop. It is what Limiter.Do, Each and retry.Do have in common.
// Most callers want one of these; a Loop is for those who build a client of
// their own upon it, without a limiter.
//
// It is a plain value, and safe for any number of goroutines as long as nobody
// changes it. The zero value makes one attempt.
type Loop struct {
	// Policy decides what is tried again; nil: nothing is.
	Policy Policy
	// Guards are asked before each attempt, before the delay that precedes it.
	Guards Guards
	// Classifier tells what an attempt's error means; nil: Classify.
	Classifier Classifier
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
	// AttemptTimeout ends the context of a single attempt; 0: none.
	AttemptTimeout time.Duration

	// limiter is where the slots come from; nil: none are needed.
	limiter *Limiter
}

// Do runs fn as one operation. It returns nil once fn did, else an *Error that
// tells how often fn ran, why it was given up and what its last error was. It
// gives up at once when the context's deadline comes before the next attempt.
// If fn panics the guards are told, and the panic goes on.
func (o Loop) Do(ctx context.Context, fn func(context.Context) error) error {
	if o.Classifier == nil {
		o.Classifier = Classify
	}
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	return o.do(ctx, fn)
}

func (o *Loop) do(ctx context.Context, fn func(context.Context) error) error {
	p, err := o.begin(ctx, 1, 0)
	if err != nil {
		return &Error{Reason: err}
	}
	return o.operate(ctx, p, fn)
}

// operate is do from the first permit on.
func (o *Loop) operate(ctx context.Context, p Permit, fn func(context.Context) error) error {
	var began time.Time
	if o.Policy != nil {
		began = o.Clock.Now() // nobody else wants to know
	}
	var last time.Duration
	for attempt := 1; ; attempt++ {
		v, err := o.attempt(ctx, p, attempt, fn)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return &Error{Attempts: attempt, Reason: ctx.Err(), Cause: err}
		}
		d := o.decide(ctx, Failure{Attempt: attempt, Err: err, Verdict: v, Last: last}, began)
		if !d.Retry {
			return &Error{Attempts: attempt, Reason: d.Reason, Cause: err}
		}
		last = d.Delay
		delay := max(d.Delay, d.RetryAfter)
		if at, ok := ctx.Deadline(); ok && delay > 0 && o.Clock.Until(at) < delay {
			// To wait for the deadline would help nobody.
			reason := fmt.Errorf("the next attempt is due in %v: %w", delay, context.DeadlineExceeded)
			return &Error{Attempts: attempt, Reason: reason, Cause: err}
		}
		next, reason := o.begin(ctx, attempt+1, delay)
		if reason != nil {
			return &Error{Attempts: attempt, Reason: reason, Cause: err}
		}
		p = next
	}
}

// begin waits until the attempt may be made. The guards come first: who is not
// admitted is told at once, not after the delay.
func (o *Loop) begin(ctx context.Context, attempt int, delay time.Duration) (Permit, error) {
	if err := o.leave(ctx, attempt); err != nil {
		return Permit{}, err
	}
	return o.reach(ctx, attempt, delay)
}

// leave asks the guards, if there are any.
func (o *Loop) leave(ctx context.Context, attempt int) error {
	if len(o.Guards) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.Guards.Admit(ctx, attempt)
}

// reach waits for the delay and then for a slot, with leave.
func (o *Loop) reach(ctx context.Context, attempt int, delay time.Duration) (Permit, error) {
	reached := false
	defer func() {
		if !reached { // or the limiter's observer panicked
			o.Guards.Ended(ctx, 0)
		}
	}()
	if err := o.sleep(ctx, delay); err != nil {
		return Permit{}, err
	}
	p, err := o.slot(ctx, attempt)
	reached = err == nil
	return p, err
}

// slot waits for a slot of the limiter, if there is one: a retry at the front.
func (o *Loop) slot(ctx context.Context, attempt int) (Permit, error) {
	switch {
	case o.limiter == nil:
		return Permit{}, ctx.Err()
	case attempt > 1:
		return o.limiter.Reacquire(ctx)
	}
	return o.limiter.Acquire(ctx)
}

// sleep waits out a delay, without a slot.
func (o *Loop) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	var shut chan struct{} // without a limiter nobody closes it
	if o.limiter != nil {
		shut = o.limiter.shut
	}
	t := o.Clock.Timer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-shut:
		return ErrClosed
	}
}

// attempt runs fn once, tells how it went and releases the permit, whatever happens.
func (o *Loop) attempt(ctx context.Context, p Permit, number int, fn func(context.Context) error) (Verdict, error) {
	// Only a panic, or an exit of the goroutine, in fn or in the classifier
	// finds the permit still to be released; after a release this is the
	// harmless second one, which must not be counted, so it is not made.
	released := false
	defer func() {
		if !released {
			defer o.Guards.Ended(ctx, 0) // whatever the limiter's observer does
			_ = p.release(Neutral, 0)
		}
	}()
	err := o.call(ctx, number, fn)
	v := o.verdict(ctx, err)
	released = true
	defer o.Guards.Settle(ctx, v, err) // as above
	_ = p.release(v.Outcome, v.RetryAfter)
	return v, err
}

func (o *Loop) call(ctx context.Context, number int, fn func(context.Context) error) error {
	timeout := o.AttemptTimeout
	if o.limiter != nil {
		timeout = o.limiter.config.Load().AttemptTimeout
	}
	ctx = &attemptContext{ctx, o.limiter, number}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = o.Clock.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return fn(ctx)
}

// verdict classifies an attempt's error in the light of the operation's context.
func (o *Loop) verdict(ctx context.Context, err error) Verdict {
	if err == nil {
		return Verdict{Outcome: Success}
	}
	v := o.Classifier(err)
	if !v.Outcome.Valid() {
		return Verdict{Outcome: Neutral}
	}
	if v.Outcome == Timeout && ctx.Err() != nil {
		// The caller's time was up, not the attempt's: most of it may have
		// gone in the queue.
		return Verdict{Outcome: Neutral}
	}
	return v
}

// decide says how a failed operation goes on. Without a policy the classifier
// says what may be tried again, and the limiter when.
func (o *Loop) decide(ctx context.Context, f Failure, began time.Time) Decision {
	d := Decision{Retry: f.Verdict.Retry && o.limiter != nil}
	if o.Policy != nil {
		f.Backoff, f.Elapsed = f.Attempt, o.Clock.Now().Sub(began)
		if o.limiter != nil {
			f.Backoff = o.limiter.backoffs(f.Attempt, f.Verdict.Outcome)
		}
		d = o.Policy.Decide(ctx, f)
	}
	switch {
	case !d.Retry || o.limiter == nil:
	case o.limiter.exhausted(f.Attempt):
		d = Decision{Reason: ErrAttempts}
	case o.Policy == nil:
		d.Delay = o.limiter.retryDelay(f.Attempt, f.Verdict)
	}
	return d
}
