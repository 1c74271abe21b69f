package admission

import "time"

// returns spreads the times at which shed requests come back, so that they leave room for
// others. It is a leaky bucket (the virtual scheduling of ITU-T I.371): each shed request
// books its part of the time ahead, and time goes by. It is pure; set Min and Max, and call
// Shed for each request.
type returns struct {
	// Min and Max bound the mean, 0 <= Min <= Max.
	Min, Max time.Duration
	// booked is the end of the booked time.
	booked time.Duration
}

// Shed returns the Retry-After of one more shed request. each is the time between two
// returns that the server can bear; u is a random number from [0, 1).
//
// Safe Client Behaviour: "Make sure to jitter retry periods on the server side", and its
// jitter is "period * random(.5, 1.5)". With this spread N requests that were shed in one
// moment come back over mean seconds, N / mean in a second, half as many again with those
// that are shed once more. Without jitter one second sees all N.
func (r *returns) Shed(now, each time.Duration, u float64) time.Duration {
	ahead := min(max(0, r.booked-now)+max(0, each), r.Max)
	r.booked = now + ahead
	return time.Duration(float64(max(ahead, r.Min)) * (0.5 + u))
}
