package httplimit

import (
	"net/http"
	"strconv"
	"time"
)

// setRetryAfter says in the header when to come back. u is a random number from
// [0, 1).
//
// Retry-After is in whole seconds. Always rounded up, all delays of 1.1 s to 2 s would
// become one; so it is rounded up or down at random, with the odds that keep the mean,
// but never to 0, which would say "at once". Clients that were refused in the same moment
// then come back in the same moment of some second, the right number in each.
// Retry-After-Ms has it in milliseconds, as Azure's services do, and RetryAfter reads it
// first.
func setRetryAfter(h http.Header, d time.Duration, u float64) {
	h.Set("Retry-After", strconv.Itoa(wholeSeconds(d, u)))
	h.Set("Retry-After-Ms", strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10))
}

func wholeSeconds(d time.Duration, u float64) int {
	return max(1, int(d.Seconds()+u))
}
