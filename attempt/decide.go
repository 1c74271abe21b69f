package attempt

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/reason"
)

// Limits are the limits of an operation; 0 means no limit.
type Limits struct {
	// Attempts is the greatest number of attempts.
	Attempts int
	// Timeout is the time of a single attempt.
	Timeout time.Duration
	// MaxWait is the longest wait before an attempt, MaxRetryAfter the longest Retry-After.
	MaxWait, MaxRetryAfter time.Duration
}

// Waits are the times for which a limiter has an operation wait after a failure.
type Waits struct {
	// Backoffs is the number of the backoff that is due, from 1, and Backoff its time. 0: none is due, since the window
	// paces the operation.
	Backoffs int
	Backoff  time.Duration
	// Obeyed is the Retry-After that is obeyed, with jitter. Pause is the time to the end of a pause of all operations
	// that contains this Retry-After, with its own jitter; 0: there is no such pause.
	Obeyed, Pause time.Duration
}

// Decide returns whether another attempt follows the failure f, when, and if not, why. policy decides, and gets f with
// its Backoff. Without a policy, again decides: f.Verdict.Retry, unless the caller knows better. Decide is pure.
func (l Limits) Decide(f Failure, again bool, policy func(Failure) Decision, w Waits) Decision {
	if f.Verdict.Reason != nil {
		return Decision{Reason: f.Verdict.Reason}
	}
	d := Decision{Retry: again, Delay: w.Backoff, RetryAfter: w.Obeyed}
	if policy != nil {
		f.Backoff = w.Backoffs
		d = policy(f)
	}
	switch wait := max(d.Delay, d.RetryAfter, f.Verdict.Wait); {
	case !d.Retry:
		return Decision{Reason: d.Reason}
	case l.Attempts > 0 && f.Attempt >= l.Attempts: // more, if the limit was lowered meanwhile
		return Decision{Reason: reason.ErrAttempts}
	case l.MaxWait > 0 && wait > l.MaxWait:
		return Decision{Reason: fmt.Errorf("%w: %v is longer than %v (MaxWait)", reason.ErrWait, wait, l.MaxWait)}
	case d.RetryAfter > 0 && w.Pause > 0:
		d.RetryAfter = w.Pause
	}
	return d
}
