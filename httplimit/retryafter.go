package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter is the longest that is believed. Our choice: a longer one is a mistake, such as a
// Unix time instead of seconds. The limiter's setting bounds how much is obeyed.
const longestRetryAfter = 365 * 24 * time.Hour

// inMilliseconds are headers in milliseconds, AWS's and Azure's. They are more exact than Retry-After, so
// they come first.
var inMilliseconds = [...]string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"}

// RetryAfter returns the delay that a service asks for in an answer's header: X-Amz-Retry-After and its
// like in milliseconds, or Retry-After as seconds or as a date (RFC 9110, section 10.2.3). A date counts
// from the answer's own Date, since the service's clock may differ from ours, or from now if there is no
// Date. A past date is a delay of 0.
//
// It returns false without such a header, and for a delay that is malformed, negative, or more than a
// year.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range inMilliseconds {
		if d, ok := delay(h.Get(name), time.Millisecond); ok {
			return d, true
		}
	}
	v := h.Get("Retry-After")
	if d, ok := delay(v, time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	d := max(0, at.Sub(now))
	if d > longestRetryAfter {
		return 0, false
	}
	return d, true
}

// delay reads a whole number of units: "Retry-After: 120". No sign, no fraction.
func delay(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	if err != nil || n > uint64(longestRetryAfter/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
