package httplimit

import (
	"net/http"
	"time"

	"github.com/aimd-go/aimd/internal/answer"
)

// RetryAfter returns the delay that a service asks for in an answer's header: X-Amz-Retry-After and its
// like in milliseconds, Retry-After as seconds or as a date (RFC 9110, section 10.2.3), or
// X-RateLimit-RetryAfter as seconds or as a Unix time. A number may have a fraction. A date counts from
// the answer's own Date, since the service's clock may differ from ours, or from now if there is no Date.
// A past date is a delay of 0.
//
// It returns false without such a header, and for a delay that is malformed, negative, or more than a
// year.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) { return answer.RetryAfter(h, now) }
