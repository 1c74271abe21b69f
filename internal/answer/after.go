package answer

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Longest is the longest delay that is believed. Our choice: a longer one is a mistake, such as a Unix
// time instead of seconds. The limiter's setting bounds how much of a delay is obeyed.
const Longest = 365 * 24 * time.Hour

// inMilliseconds are headers of AWS and Azure. They are more exact than Retry-After, so they come first.
var inMilliseconds = [...]string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"}

// RetryAfter is httplimit.RetryAfter.
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
	if at, err := http.ParseTime(v); err == nil {
		return until(at, h, now)
	}
	return moment(h.Get("X-Ratelimit-Retryafter"), h, now)
}

// delay reads a number of units, which may have a fraction: "Retry-After: 120", "Retry-After: 1.5".
func delay(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n > float64(Longest/unit) {
		return 0, false
	}
	return time.Duration(math.Round(n * float64(unit))), true
}

// moment reads a delay in seconds, or a Unix time in seconds or milliseconds: a number of seconds that is
// more than the longest delay is a time.
func moment(s string, h http.Header, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case err != nil, !(n >= 0 && n < 1e15):
		return 0, false
	case n <= Longest.Seconds():
		return delay(s, time.Second)
	case n >= 1e11: // in milliseconds, from 1973
		n /= 1000
	}
	return until(time.Unix(0, int64(n*float64(time.Second))), h, now)
}

// until is the time from the answer's own Date, since its clock may differ, or from now without a Date.
func until(at time.Time, h http.Header, now time.Time) (time.Duration, bool) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	d := max(0, at.Sub(now))
	if d > Longest {
		return 0, false
	}
	return d, true
}
