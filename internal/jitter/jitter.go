// Package jitter spreads what many clients were told to do at the same moment.
package jitter

import "time"

// RetryAfter is how long to stay away from a service that asked for that: no
// longer than the longest, and jitter on top: half of it, at most a second.
// Never less than asked, and a spread that is worth something to the service
// without making a long wait much longer. 0 if it did not ask. r is the source
// of jitter.
func RetryAfter(asked, longest time.Duration, r interface{ Float64() float64 }) time.Duration {
	if asked <= 0 {
		return 0
	}
	d := min(asked, longest)
	return d + time.Duration(r.Float64()*float64(min(d/2, time.Second)))
}
