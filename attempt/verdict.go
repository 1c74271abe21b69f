package attempt

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Verdict is what an attempt's error means.
type Verdict struct {
	// Outcome is for the law. The zero value means that the classifier does not know.
	Outcome window.Outcome
	// Retry: another attempt may succeed.
	Retry bool
	// RetryAfter is the delay that the service asked for, or 0.
	RetryAfter time.Duration
	// Stop: the service refuses everybody until RetryAfter has passed, so a limiter pauses all its
	// operations, for at most a day. If RetryAfter is 0, the pause is a minute, and twice as long after each such
	// answer in a row, up to 64 minutes.
	Stop bool
	// Guessed: the refusal is read from words that may mean something else. After MaxRetryAfter with no other answer,
	// the operation ends, for the reason ErrQuota.
	Guessed bool
	// Denied: the answer is a 403 without a code of the service, and neither JSON nor XML. After 50 successes, a
	// limiter takes ten in a row, or twice as many as ever passed separately, for a block of the client by a
	// firewall: it pauses all operations for a minute, then for two and four, and lets those be tried again that it
	// took so. An operation that cannot wait so long ends the pause.
	Denied bool
	// Reason is why there is no further attempt, whatever a policy says; nil: see Retry and the policy.
	Reason error
}

// Classifier reads an attempt's error, which is never nil, on the goroutine of the attempt. It returns the
// zero Verdict for an error that it does not know; such an error is neutral and final, unless time ran out.
// Several goroutines may call it at once. It should be quick.
type Classifier func(err error) Verdict

// FirstOf asks the classifiers in turn and takes the first answer: FirstOf(mine, Classify) adds to the default.
func FirstOf(cs ...Classifier) Classifier {
	return func(err error) Verdict {
		for _, c := range cs {
			if v := c(err); v.Outcome.Valid() {
				return v
			}
		}
		return Verdict{}
	}
}

// Guard is asked before each attempt of an operation. throttle.Throttle and retry.Budget are guards. It must
// be safe for any number of goroutines. Exactly one Ended follows each Admit that returned nil, whatever
// happens, with the same context or one derived from it.
type Guard interface {
	// Admit decides whether the operation's attempt of that number may be made. 1 is the first attempt, 0
	// an unknown number. An error ends the operation at once, and is its reason. Admit must not wait.
	Admit(ctx context.Context, attempt int) error
	// Ended reports how an admitted attempt ended. The zero Outcome means that the service did not
	// answer: the caller cancelled, the connection failed, or the request was not sent.
	Ended(ctx context.Context, o window.Outcome)
}

// Policy decides whether a failed attempt is followed by another, and when. retry.Policy is one. It must
// be safe for any number of goroutines. Without a policy, a limiter's Do and Each follow the verdict.
type Policy interface {
	// Decide is called after each failed attempt, with the operation's context, which has not ended then.
	Decide(ctx context.Context, f Failure) Decision
}

// Failure describes an attempt that failed.
type Failure struct {
	// Attempt is the attempt's number within its operation, from 1.
	Attempt int
	// Err is the error of the attempt, never nil, and Verdict the classifier's verdict.
	Err     error
	Verdict Verdict
	// Backoff numbers the delays by which the operation backs off on its own, from 1. 0: it needs no delay,
	// since a limiter's window paces it for the first five overloads in a row.
	Backoff int
	// Last is the Decision.Delay before this attempt, 0 if there was none.
	Last time.Duration
	// Elapsed is the time since the operation's first attempt began.
	Elapsed time.Duration
}

// Decision is the answer of a Policy. The zero value ends the operation with the attempt's error.
type Decision struct {
	// Retry: another attempt is made.
	Retry bool
	// Delay is the time for which the operation backs off on its own. It holds no slot meanwhile.
	Delay time.Duration
	// RetryAfter is the time for which it waits for the service. The longer of the two delays counts.
	RetryAfter time.Duration
	// Reason is why there is no further attempt; it becomes Error.Reason.
	Reason error
}

// numberKey is the key of the attempt's number in its context, an int.
type numberKey struct{}

// Number returns which attempt of its operation the context belongs to, from 1; 0: not known.
func Number(ctx context.Context) int {
	n, _ := ctx.Value(numberKey{}).(int)
	return n
}

// WithRetry marks the attempt that is begun with the context as a retry. It waits for its slot at the front of
// the queue, behind other retries, and the queue's bound does not apply. The attempts of limiters, of retry.Do
// and of httplimit's clients are marked already.
func WithRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, numberKey{}, max(Number(ctx), 2))
}
