package attempt

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Verdict is what an attempt's error means.
type Verdict struct {
	// Outcome is what the law is told. The zero value: the classifier does not know.
	Outcome window.Outcome
	// Retry: another attempt may succeed.
	Retry bool
	// RetryAfter is the delay that the service asked for; 0: none.
	RetryAfter time.Duration
	// Reason is why there is no further attempt, whatever a policy says: ErrQuota or
	// ErrNoContact; nil: none but what Retry says.
	Reason error
}

// Classifier tells what an attempt's error means; err is never nil. It runs
// without a lock, on the goroutine of the attempt. One that does not know the
// error returns the zero Verdict; such an error is neutral and final, unless
// time ran out.
type Classifier func(err error) Verdict

// FirstOf asks the classifiers in turn and takes the first answer; the zero
// Verdict if none of them knows the error. To add to the default:
//
//	FirstOf(mine, Classify)
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
