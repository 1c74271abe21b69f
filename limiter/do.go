package limiter

import (
	"context"

	"github.com/aimd-go/aimd/attempt"
)

// Do runs fn as one operation: it waits for a slot, runs fn, tells the law how
// it went, and runs it again while that may help. It returns nil once fn did,
// else an *attempt.Error that tells how often fn ran, why it was given up and what
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
// With a policy (Config.Policy) the policy says what is tried again, how often,
// how long an operation backs off and how a Retry-After is obeyed; the limiter
// still says when an operation backs off by itself: not after an overload or a
// timeout as long as its patience lasts, for the window paces those. A Retry-After that
// pauses everybody goes by the limiter's own settings, and the lower of the two attempt
// limits holds.
//
// The guards (Config.Guards) are asked before each attempt, before it waits for
// anything. What they refuse ends the operation at once.
//
// The context given to fn is ctx, with the attempt's timeout if there is one,
// and says that the attempt has a slot and which attempt it is (attempt.Number).
// What is begun with it takes no second slot: a Do or Each of the same limiter
// within fn, or a client that goes through an integration of it, makes its
// attempts under this one. Such a Do asks the guards for its retries only, backs
// off by itself from its first failure on, and the limiter hears how fn ends,
// not how they do.
//
// If the attempt's timeout passes, and ctx lasts, that is a timeout, and tried
// again, whatever error fn makes of it, unless the classifier knows the error. If
// ctx's deadline passes it is one if the attempt had at least half of the time
// from the call of Do to the deadline. A cancellation by the caller says nothing
// about load. If fn panics, the slot is given back and the panic goes on.
func (l *Limiter) Do(ctx context.Context, fn func(context.Context) error) error {
	return l.runner.Do(ctx, fn)
}

// Begin is for integrations, and for callers that drive their attempts themselves. It
// asks the guards, waits for a slot and returns an attempt, which has to be ended
// (attempt.Attempt.End) and may be followed by another (Next). The context says which
// attempt of its operation it is (attempt.Number); a retry waits at the front of the
// queue (attempt.WithRetry). The error is that of the context, of a guard or of the
// limiter, and nothing was begun then.
//
// If ctx holds a slot of the limiter already, the attempt is part of the one that took it:
// Begin asks no guard and waits for nothing.
func (l *Limiter) Begin(ctx context.Context) (attempt.Attempt, error) {
	a, err := l.runner.Begin(ctx)
	if err != nil {
		return nil, err // not a nil *run.Attempt
	}
	return a, nil
}
