package attempt

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/delay"
	"github.com/aimd-go/aimd/internal/reason"
	"github.com/aimd-go/aimd/window"
)

// Limits are the limits of an operation; 0 means no limit.
type Limits struct {
	// Attempts is the greatest number of attempts.
	Attempts int
	// Timeout is the time of a single attempt.
	Timeout time.Duration
	// MaxWait is the longest wait before an attempt, MaxRetryAfter the longest Retry-After.
	MaxWait, MaxRetryAfter time.Duration

	// unpaced: the operation is within another's slot, so no window paces it. It backs off from its first failure on.
	unpaced bool
}

// Decide returns whether another attempt follows the failure f, when, and if not, why. policy decides; without a
// policy, again decides: f.Verdict.Retry, unless the caller knows better. delays are Slots.Delays, nil without a
// limiter: then only a policy tries again. Decide sets f.Backoff. It is pure.
func (l Limits) Decide(
	f Failure, again bool, policy func(Failure) Decision, delays func(last window.Outcome) (own, obeyed time.Duration),
) Decision {
	if f.Verdict.Reason != nil {
		return Decision{Reason: f.Verdict.Reason}
	}
	d, last := Decision{Retry: again && delays != nil}, f.Verdict.Outcome()
	if l.unpaced {
		last = window.Neutral
	}
	if policy != nil {
		f.Backoff = f.Attempt
		if delays != nil {
			f.Backoff = delay.Backoffs(f.Attempt, last.Overloaded())
		}
		d = policy(f)
	}
	switch {
	case !d.Retry:
	case l.Attempts > 0 && f.Attempt >= l.Attempts: // more, if the limit was lowered meanwhile
		return Decision{Reason: reason.ErrAttempts}
	case policy == nil:
		d.Delay, d.RetryAfter = delays(last)
	}
	return d
}

func (l Limits) tooLong(wait time.Duration) error {
	if l.MaxWait == 0 || wait <= l.MaxWait {
		return nil
	}
	return fmt.Errorf("%w: %v is longer than %v (MaxWait)", reason.ErrWait, wait, l.MaxWait)
}
