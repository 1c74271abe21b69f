package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter is the longest that is believed. Our choice: what is
// longer is a mistake, such as a Unix time in the place of seconds. (How much of
// it is obeyed is the limiter's setting, minutes rather.)
const longestRetryAfter = 365 * 24 * time.Hour

// inMilliseconds are the headers that say it in milliseconds. They are more
// exact than Retry-After, so they come first. The first is AWS's, the others
// Azure's.
var inMilliseconds = [...]string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"}

// RetryAfter returns the delay that a service asks for in an answer's header:
// X-Amz-Retry-After and its like in milliseconds, or Retry-After as seconds or
// as a date (RFC 9110, section 10.2.3). A date counts from the answer's own
// Date, since the service's clock may differ from ours, and from now if it has
// none. A date that is over is a delay of 0.
//
// It returns false when there is none, and for what cannot be meant: malformed,
// negative, more than a year.
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
