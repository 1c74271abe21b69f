package attempt

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Guard is asked before each attempt of an operation. throttle.Throttle and retry.Budget are guards. It must be
// safe for any number of goroutines. Exactly one Ended follows each Admit that returned nil, with the same context
// or a derived context. Guards are asked in their order. If a guard refuses or panics, the guards before it get the
// zero Outcome, and the guards behind it are not asked.
type Guard interface {
	// Admit decides whether the operation's attempt of that number may be made. 1 is the first attempt, 0
	// an unknown number. An error ends the operation at once, and is its reason. Admit must not wait.
	Admit(ctx context.Context, attempt int) error
	// Ended reports the end of an admitted attempt. The zero Outcome means that the service did not answer: the
	// caller cancelled, the connection failed, or the request was not sent.
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
	Verdict verdict.Verdict
	// Backoff is the number of the delay by which the operation backs off, from 1. 0: it needs no delay, since a
	// limiter's window paces it for the first five overloads in a row.
	Backoff int
	// Last is the Decision.Delay before this attempt, 0 without a delay.
	Last time.Duration
	// Elapsed is the time since the operation's first attempt began.
	Elapsed time.Duration
}

// Decision is the answer of a Policy. The zero value ends the operation with the attempt's error.
type Decision struct {
	// Retry: another attempt is made.
	Retry bool
	// Delay is the time for which the operation backs off. It holds no slot meanwhile.
	Delay time.Duration
	// RetryAfter is the time for which the operation waits for the service. The longer of the two delays counts.
	RetryAfter time.Duration
	// Reason is the reason for no further attempt; it becomes Error.Reason.
	Reason error
}
