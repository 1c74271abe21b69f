package admission

import "time"

// retryAfter is the Retry-After of a shed request: mean * (0.5 + u), with u a random
// number from [0, 1). Safe Client Behaviour: "Make sure to jitter retry periods on the
// server side", and its jitter is "period * random(.5, 1.5)".
//
// With this spread N requests that were all shed in one moment come back over mean
// seconds, N / mean in a second. With those among them that are shed once more it is at
// most half as many again. Without jitter one second sees all N.
func retryAfter(mean time.Duration, u float64) time.Duration {
	return time.Duration(float64(mean) * (0.5 + u))
}

// returns spreads the times at which shed requests come back, so that they leave room
// for others. The mean of retryAfter is the time that it takes to serve all that were
// told to come back and are not due yet: a few come back soon, a thousand over the time
// that it takes to serve a thousand. It is pure; set Min and Max, and call Shed for each.
//
// It is a leaky bucket (the virtual scheduling of ITU-T I.371): each shed request books
// its share of the time ahead, and time goes by.
type returns struct {
	// Min and Max bound the mean, 0 <= Min <= Max.
	Min, Max time.Duration
	// booked is until when the time is booked.
	booked time.Time
}

// Shed returns the delay for one more shed request. each is the time between two
// returns that the server can bear; u is a random number from [0, 1).
func (r *returns) Shed(now time.Time, each time.Duration, u float64) time.Duration {
	ahead := min(max(0, r.booked.Sub(now))+max(0, each), r.Max)
	r.booked = now.Add(ahead)
	return retryAfter(max(ahead, r.Min), u)
}
