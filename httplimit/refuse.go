package httplimit

import (
	"net/http"
	"strconv"
	"time"
)

// setRetryAfter says in the header when to come back. u is a random number from [0, 1).
//
// Retry-After has whole seconds. Rounded up, all delays from 1.1 s to 2 s would become one, so it is
// rounded up or down at random, with the odds that keep the mean, but never to 0. Retry-After-Ms has
// milliseconds, as with Azure, and RetryAfter reads it first.
func setRetryAfter(h http.Header, d time.Duration, u float64) {
	h.Set("Retry-After", strconv.Itoa(wholeSeconds(d, u)))
	h.Set("Retry-After-Ms", strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10))
}

func wholeSeconds(d time.Duration, u float64) int {
	return max(1, int(d.Seconds()+u))
}
