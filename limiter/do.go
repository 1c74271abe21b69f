package limiter

import (
	"context"
)

// Do runs fn as one operation: it waits for a slot, runs fn, tells the law how
// it went, and runs it again while that may help. It returns nil once fn did,
// else an *Error that tells how often fn ran, why it was given up and what
// its last error was.
//
// After an overload or a timeout the slot goes to others, and the operation
// waits for the next one at the front of the queue, once the service's
// Retry-After is over. After several failures, and after the first that says
// nothing about load, it backs off by itself before it queues.
//
// Without an attempt limit it goes on for as long as the context lasts: bulk
// work loses nothing, and interactive callers give a deadline.
//
// The context given to fn is ctx, with the attempt's timeout if there is one,
// and says that the attempt has a slot: a client that goes through a door of the
// same limiter takes no second one.
// The end of ctx itself says nothing about load. If fn panics, the permit is
// released and the panic goes on.
func (l *Limiter) Do(ctx context.Context, fn func(context.Context) error) error {
	p, err := l.Acquire(ctx)
	if err != nil {
		return &Error{Reason: err}
	}
	return l.operate(ctx, p, fn)
}

// operate is Do from the first permit on.
func (l *Limiter) operate(ctx context.Context, p Permit, fn func(context.Context) error) error {
	for attempts := 1; ; attempts++ {
		v, err := l.attempt(ctx, p, fn)
		if err == nil {
			return nil
		}
		gaveUp := func(reason error) error { return &Error{Attempts: attempts, Reason: reason, Cause: err} }
		switch {
		case ctx.Err() != nil:
			return gaveUp(ctx.Err())
		case !v.Retry:
			return gaveUp(nil)
		case l.exhausted(attempts):
			return gaveUp(ErrAttempts)
		}
		if reason := l.Backoff(ctx, attempts, v); reason != nil {
			return gaveUp(reason)
		}
		next, reason := l.Reacquire(ctx)
		if reason != nil {
			return gaveUp(reason)
		}
		p = next
	}
}

// attempt runs fn once and releases the permit, whatever happens.
func (l *Limiter) attempt(ctx context.Context, p Permit, fn func(context.Context) error) (Verdict, error) {
	// Only a panic, or an exit of the goroutine, in fn or in the classifier
	// finds the permit still to be released; after a release this is the
	// harmless second one, which must not be counted, so it is not made.
	released := false
	defer func() {
		if !released {
			p.release(Neutral, 0)
		}
	}()
	err := l.call(ctx, fn)
	v := l.verdict(ctx, err)
	released = true
	p.release(v.Outcome, v.RetryAfter)
	return v, err
}

func (l *Limiter) call(ctx context.Context, fn func(context.Context) error) error {
	ctx = l.WithSlot(ctx)
	if d := l.tuning.Load().AttemptTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = l.config.Clock.WithTimeout(ctx, d)
		defer cancel()
	}
	return fn(ctx)
}

// verdict classifies an attempt's error in the light of the operation's context.
func (l *Limiter) verdict(ctx context.Context, err error) Verdict {
	if err == nil {
		return Verdict{Outcome: Success}
	}
	v := l.Classify(err)
	if v.Outcome == Timeout && ctx.Err() != nil {
		// The caller's time was up, not the attempt's: most of it may have
		// gone in the queue.
		return Verdict{Outcome: Neutral}
	}
	return v
}

// Classify is what the limiter's classifier says of the error, for those who
// drive their attempts themselves; nil is a success.
func (l *Limiter) Classify(err error) Verdict {
	if err == nil {
		return Verdict{Outcome: Success}
	}
	if v := l.config.Classifier(err); v.Outcome.Valid() {
		return v
	}
	return Verdict{Outcome: Neutral}
}

// Backoff waits, without a slot, for as long as an operation should before it
// queues again with Reacquire: after so many failed attempts in a row, the last
// of which ended as v says. Do does this by itself. It returns ctx.Err() or
// ErrClosed if one of them comes first.
func (l *Limiter) Backoff(ctx context.Context, failures int, v Verdict) error {
	l.lock()
	d := l.core.RetryDelay(failures, v.Outcome, v.RetryAfter)
	l.open()
	if d <= 0 {
		return nil
	}
	t := l.config.Clock.Timer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.shut:
		return ErrClosed
	}
}
