package attempt

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

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
	// (limiter.Config.Patience).
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

// Pacing is how a limiter delays operations that failed.
type Pacing interface {
	// Backoffs is how often an operation has to have backed off by itself after
	// so many failures in a row, last being the outcome of the last of them: the
	// delay that is due now is the one of that number, 0: none is.
	Backoffs(failures int, last window.Outcome) int
	// RetryDelay is how long such an operation waits before it queues again, 0 or
	// more; retryAfter is what the service asked for, 0 if it did not.
	RetryDelay(failures int, last window.Outcome, retryAfter time.Duration) time.Duration
}

// Decide says how an operation goes on after the failure f: whether there is
// another attempt, when, and if not, why. It is what a Runner does, without
// a clock, a context or a lock; a simulator calls the same.
//
// policy decides; nil: what the verdict says may be tried again is. pacing is the
// limiter's, nil without one; then nothing is tried again without a policy. most
// is the limiter's limit of attempts, 0 for none. It sets f.Backoff.
func Decide(f Failure, policy func(Failure) Decision, pacing Pacing, most int) Decision {
	if f.Verdict.Reason != nil {
		return Decision{Reason: f.Verdict.Reason}
	}
	d := Decision{Retry: f.Verdict.Retry && pacing != nil}
	if policy != nil {
		f.Backoff = f.Attempt
		if pacing != nil {
			f.Backoff = pacing.Backoffs(f.Attempt, f.Verdict.Outcome)
		}
		d = policy(f)
	}
	switch {
	case !d.Retry:
	case most > 0 && f.Attempt >= most: // more: it was lowered meanwhile
		return Decision{Reason: ErrAttempts}
	case policy == nil:
		d.Delay = pacing.RetryDelay(f.Attempt, f.Verdict.Outcome, f.Verdict.RetryAfter)
	}
	return d
}

// unpaced is the pacing of an operation that has its slot for good: no window
// paces it, so it backs off by itself from the first failure on.
type unpaced struct{ Pacing }

func (p unpaced) Backoffs(failures int, _ window.Outcome) int {
	return p.Pacing.Backoffs(failures, window.Neutral)
}

func (p unpaced) RetryDelay(failures int, _ window.Outcome, retryAfter time.Duration) time.Duration {
	return p.Pacing.RetryDelay(failures, window.Neutral, retryAfter)
}
