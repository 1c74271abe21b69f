package admission

import "time"

// retryAfter is what one who is shed is told to wait, where the mean is to be
// mean: mean * (0.5 + u), with u a random number from [0, 1). Safe Client Behaviour: "Make
// sure to jitter retry periods on the server side", and its jitter is "period *
// random(.5, 1.5)".
//
// With this spread even those who were all shed in one moment come back at the
// rate of those who were shed at any time: N of them, over mean seconds. When
// those who are shed once more mingle with them, that rate is exceeded by half
// at the most. So after an outage the first second sees at most 1.5 times the
// N / mean requests that any second sees. Without jitter it sees all N.
func retryAfter(mean time.Duration, u float64) time.Duration {
	return time.Duration(float64(mean) * (0.5 + u))
}

// returns spreads out when those who are shed come back: no faster than a rate
// that leaves room for others. It makes the mean of retryAfter as long as all
// those will take who were told to come back and have not yet been due: few who
// are shed come back soon, a thousand in an outage over as long as it takes to
// serve a thousand. It is pure; set Min and Max, and call Shed for each one.
//
// It works as a leaky bucket does (the virtual scheduling of ITU-T I.371):
// each one who is shed books its share of the time ahead, and time goes by.
type returns struct {
	// Min and Max bound the mean, 0 <= Min <= Max.
	Min, Max time.Duration
	// booked is until when the time is booked.
	booked time.Time
}

// Shed returns the delay for one more who is shed. each is the time between two
// returns that the server can bear; u is a random number from [0, 1).
func (r *returns) Shed(now time.Time, each time.Duration, u float64) time.Duration {
	ahead := min(max(0, r.booked.Sub(now))+max(0, each), r.Max)
	r.booked = now.Add(ahead)
	return retryAfter(max(ahead, r.Min), u)
}
