package limiter

import (
	"context"
	"time"
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
// With a policy (Config.Policy) the policy says what is tried again, how often,
// how long an operation backs off and how a Retry-After is obeyed; the limiter
// still says when an operation backs off by itself: not after an overload or a
// timeout as long as its patience lasts, for the window paces those. A Retry-After that
// shuts the gate for everybody goes by the limiter's own settings, and the lower of the
// two attempt limits holds.
//
// The guards (Config.Guards) are asked before each attempt, before it waits for
// anything. What they refuse ends the operation at once.
//
// The context given to fn is ctx, with the attempt's timeout if there is one,
// and says that the attempt has a slot: a client that goes through a door of the
// same limiter takes no second one. It tells the attempt's number too, see
// AttemptNumber.
// The end of ctx itself says nothing about load. If fn panics, the permit is
// released and the panic goes on.
func (l *Limiter) Do(ctx context.Context, fn func(context.Context) error) error {
	return l.loop.do(ctx, fn)
}

// Guards are those that the limiter was made with. Do and Each ask them; Acquire
// does not, and who drives attempts by it may.
func (l *Limiter) Guards() Guards { return l.loop.Guards }

// Classify is what the limiter's classifier says of the error, for those who
// drive their attempts themselves; nil is a success.
func (l *Limiter) Classify(err error) Verdict {
	if err == nil {
		return Verdict{Outcome: Success}
	}
	if v := l.loop.Classifier(err); v.Outcome.Valid() {
		return v
	}
	return Verdict{Outcome: Neutral}
}

// Backoff waits, without a slot, for as long as an operation should before it
// queues again with Reacquire: after so many failed attempts in a row, the last
// of which ended as v says. Do without a policy does this by itself. It returns
// ctx.Err() or ErrClosed if one of them comes first.
func (l *Limiter) Backoff(ctx context.Context, failures int, v Verdict) error {
	return l.loop.sleep(ctx, l.retryDelay(failures, v))
}

func (l *Limiter) retryDelay(failures int, v Verdict) time.Duration {
	l.mu.Lock()
	d := l.core.RetryDelay(failures, v.Outcome, v.RetryAfter)
	l.unlock(l.time())
	return d
}

// backoffs is Settings.Backoffs under the rules in force.
func (l *Limiter) backoffs(failures int, last Outcome) int {
	return Settings{Patience: l.config.Load().Patience}.Backoffs(failures, last)
}
