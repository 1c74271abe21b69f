package limiter

import (
	"context"
	"time"
)

// Policy decides whether a failed attempt is followed by another, and when.
// retry.Policy is one. It must be safe for any number of goroutines.
//
// Without one a limiter's Do and Each go by the classifier: what may be
// retried is, without end unless there is an attempt limit, and an operation
// backs off as Do says.
type Policy interface {
	// Decide is asked after each failed attempt, with the operation's context,
	// which has not ended then.
	Decide(ctx context.Context, f Failure) Decision
}

// Failure is what a Policy is told of an attempt that failed.
type Failure struct {
	// Attempt is the attempt's number within its operation, from 1.
	Attempt int
	// Err is what it failed with, never nil, and Verdict what the classifier
	// says of that.
	Err     error
	Verdict Verdict
	// Backoff numbers the delays by which the operation backs off by itself: 1
	// for the first. 0: none is needed now, since the operation has to wait for a
	// slot, and the window paces that; only a Retry-After delays it. It is 0 in a
	// limiter after an overload or a timeout, as long as its patience lasts
	// (Settings.Patience).
	Backoff int
	// Last is the Decision.Delay before this attempt, 0 if there was none.
	Last time.Duration
	// Elapsed is the time since the operation's first attempt began.
	Elapsed time.Duration
}

// Decision is what a Policy decided. The zero value: no further attempt, the
// error is final.
type Decision struct {
	// Retry: another attempt is made.
	Retry bool
	// Delay is how long the operation backs off by itself. No slot is held
	// meanwhile.
	Delay time.Duration
	// RetryAfter is how long it stays away since the service asked for it. The
	// longer of the two counts.
	RetryAfter time.Duration
	// Reason is why there is no further attempt, such as ErrAttempts; nil: the
	// error is final. It becomes Error.Reason.
	Reason error
}
