package attempt

import (
	"context"
	"time"
)

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
	// Backoff numbers the delays by which the operation backs off by itself, from 1. 0: it needs no delay,
	// since a limiter's window paces it as long as the patience lasts (limiter.Rules.Patience).
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
	// Delay is how long the operation backs off by itself. It holds no slot meanwhile.
	Delay time.Duration
	// RetryAfter is how long it waits for the service. The longer of the two delays counts.
	RetryAfter time.Duration
	// Reason is why there is no further attempt; it becomes Error.Reason.
	Reason error
}
