package attempt

import (
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
	// operations, however long. If RetryAfter is 0, the pause is a minute, and twice as long after each such
	// answer in a row.
	Stop bool
	// Reason is why there is no further attempt, whatever a policy says; nil: see Retry and the policy.
	Reason error
}

// Classifier reads an attempt's error, which is never nil, on the goroutine of the attempt. It returns the
// zero Verdict for an error that it does not know; such an error is neutral and final, unless time ran out.
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
