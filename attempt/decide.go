package attempt

import (
	"time"

	"github.com/aimd-go/aimd/internal/delay"
	"github.com/aimd-go/aimd/window"
)

// Delays are the delays of a limiter after a failure with the outcome: limiter.Gate.Backoff and Obeyed.
type Delays func(last window.Outcome) (backoff, obeyed time.Duration)

// Decide returns whether another attempt follows the failure f, when, and if not, why. policy decides; without
// one again does, which is f.Verdict.Retry unless the caller knows better. delays are the limiter's, nil without a
// limiter: then only a policy tries again. Decide sets f.Backoff. It is pure.
func Decide(f Failure, again bool, policy func(Failure) Decision, delays Delays, l Limits) Decision {
	if f.Verdict.Reason != nil {
		return Decision{Reason: f.Verdict.Reason}
	}
	d, last := Decision{Retry: again && delays != nil}, f.Verdict.Outcome()
	if l.Unpaced {
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
		return Decision{Reason: ErrAttempts}
	case policy == nil:
		d.Delay, d.RetryAfter = delays(last)
	}
	return d
}
