package aimdaws

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/limiter"
)

// verdict is what the limiter's classifier says of an error of the SDK.
func verdict(l *limiter.Limiter, err error) limiter.Verdict {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.Response.Response == nil {
		return l.Classify(err)
	}
	after := retryAfter(answer.Response.Header, time.Now())
	if answer.Response.StatusCode < http.StatusMultipleChoices && answer.Err != nil {
		// The failure is another than the status tells. The SDK puts an empty
		// answer of status 0 around a request that could not be sent.
		err = answer.Err
	}
	if after > 0 {
		err = &refusal{err, after}
	}
	return l.Classify(err)
}

// refusal is an error with the Retry-After that came with it, in the way that
// classifiers look for it.
type refusal struct {
	error
	after time.Duration
}

func (r *refusal) Unwrap() error             { return r.error }
func (r *refusal) RetryAfter() time.Duration { return r.after }

// retryAfter is the delay that an answer's headers ask for; 0: none.
// X-Amz-Retry-After tells milliseconds; Retry-After seconds or a date (RFC
// 9110, section 10.2.3), which is taken by the service's own clock if known.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := delay(h.Get("X-Amz-Retry-After"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := delay(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(0, at.Sub(now))
}

// delay reads a whole number of units. One beyond all measure counts as the
// longest duration that there is.
func delay(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return time.Duration(min(n, uint64(math.MaxInt64/unit))) * unit, true
}
