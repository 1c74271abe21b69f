package limiter

import (
	"context"

	"github.com/aimd-go/aimd/attempt"
)

// Do runs fn as one operation: it waits for a slot, runs fn, and runs fn again while that may help, so fn
// must be safe to repeat. It returns nil once fn did, otherwise an *attempt.Error with the number of
// attempts, the reason to give up, and the last error. The comment of package attempt has what the end of a
// context means.
//
// After an overload or a timeout the slot goes to another operation, and this one waits at the front of the
// queue once the service's Retry-After is over. After several failures, and after the first neutral one, the
// operation backs off by itself before it queues. Without MaxAttempts and GiveUpAfter, Do ends by success, by
// a final error, or with ctx: bulk work loses no item, and interactive callers give a deadline.
//
// A policy (Config.Policy) decides what is tried again, how often, how long an operation backs off and how a
// Retry-After is obeyed. Pauses for all operations, and the patience after overloads, are the limiter's; the
// lower of the two attempt limits holds. A guard (Config.Guards) that refuses ends the operation at once.
//
// The context of fn is ctx, with the attempt's timeout if there is one. It has the attempt's number
// (attempt.Number) and its slot: a Do or Each of the same limiter within fn, or a client that uses an
// integration of the limiter, makes its attempts under that slot. Such a Do asks the guards for its retries
// only, backs off by itself from its first failure, and does not count for the window: the end of fn does.
func (l *Limiter) Do(ctx context.Context, fn func(context.Context) error) error {
	return l.runner.Do(ctx, fn)
}

// Begin is for integrations, and for callers that drive their attempts themselves. It asks the guards, waits
// for a slot and returns an attempt, which has to be ended (attempt.Attempt.End) and may be followed by
// another (Next). The context says which attempt of its operation it is; a retry waits at the front of the
// queue (attempt.WithRetry). With an error, of the context, of a guard or of the limiter, no attempt was
// begun.
//
// If ctx holds a slot of the limiter already, the attempt is part of the one that took it: Begin asks no
// guard and does not wait.
func (l *Limiter) Begin(ctx context.Context) (attempt.Attempt, error) {
	a, err := l.runner.Begin(ctx)
	if err != nil {
		return nil, err // not a nil *run.Attempt
	}
	return a, nil
}
