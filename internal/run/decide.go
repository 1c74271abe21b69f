package run

import (
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// Decide returns whether another attempt follows the failure f, when, and if not, why. policy decides; without
// one the verdict does. pacing is the limiter's, nil without a limiter: then only a policy tries again. most
// is the limiter's limit of attempts, 0 for no limit. Decide sets f.Backoff. It is pure.
func Decide(f attempt.Failure, policy func(attempt.Failure) attempt.Decision, pacing Pacing, most int) attempt.Decision {
	if f.Verdict.Reason != nil {
		return attempt.Decision{Reason: f.Verdict.Reason}
	}
	d := attempt.Decision{Retry: f.Verdict.Retry && pacing != nil}
	if policy != nil {
		f.Backoff = f.Attempt
		if pacing != nil {
			f.Backoff = pacing.Backoffs(f.Attempt, f.Verdict.Outcome)
		}
		d = policy(f)
	}
	switch {
	case !d.Retry:
	case most > 0 && f.Attempt >= most: // more, if the limit was lowered meanwhile
		return attempt.Decision{Reason: attempt.ErrAttempts}
	case policy == nil:
		d.Delay = pacing.RetryDelay(f.Attempt, f.Verdict.Outcome, f.Verdict.RetryAfter)
	}
	return d
}

// unpaced is the pacing of an operation within another's slot: it backs off from its first failure on.
type unpaced struct{ Pacing }

func (p unpaced) Backoffs(failures int, _ window.Outcome) int {
	return p.Pacing.Backoffs(failures, window.Neutral)
}

func (p unpaced) RetryDelay(failures int, _ window.Outcome, retryAfter time.Duration) time.Duration {
	return p.Pacing.RetryDelay(failures, window.Neutral, retryAfter)
}
