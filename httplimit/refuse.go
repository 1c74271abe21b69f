package httplimit

import (
	"net/http"
	"strconv"
	"time"
)

// setRetryAfter says in the header when to come back. u is a random number from
// [0, 1).
//
// Retry-After has a grain of a second. Always rounded to the same side, those
// who were told 1.1 s to 2 s would all come back at one time; so it is rounded
// up or down at random, with the odds that keep the mean, but never to 0: that
// would say "at once". Those refused in the same moment then still come back
// in the same moment of some second, as many in each second as they should.
// Who reads Retry-After-Ms, which says it in milliseconds (as Azure's services
// do), comes back at the exact time: RetryAfter reads it first.
func setRetryAfter(h http.Header, d time.Duration, u float64) {
	h.Set("Retry-After", strconv.Itoa(wholeSeconds(d, u)))
	h.Set("Retry-After-Ms", strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10))
}

func wholeSeconds(d time.Duration, u float64) int {
	return max(1, int(d.Seconds()+u))
}
