// Package jitter spreads delays that a service asked many clients for at the same moment.
package jitter

import "time"

// RetryAfter returns the delay that a service asked for, at most the longest, and on top up
// to half the delay, at most a second, at random from r. 0 if the service did not ask.
func RetryAfter(asked, longest time.Duration, r interface{ Float64() float64 }) time.Duration {
	if asked <= 0 {
		return 0
	}
	d := min(asked, longest)
	return d + time.Duration(r.Float64()*float64(min(d/2, time.Second)))
}
