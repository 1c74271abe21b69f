// Package sliding counts events over a sliding window of time. It is pure: the time is an argument.
package sliding

import "time"

// Counter is the number of events within the last while, kept in buckets of equal width. A sum covers the
// time asked for, and up to one bucket more: events leave a bucket at a time, and not early.
//
// A time before the last one counts as the last one. Make a Counter with New; copies share their buckets.
type Counter struct {
	width time.Duration
	// ring has a bucket for each part of the window and one for the newest part, which is not over yet.
	ring []int
	// sum is the sum of all buckets.
	sum int
	// origin is the time of the first event; the buckets count from there.
	origin time.Time
	// newest is the number of the newest bucket, counted from origin.
	newest int64
	begun  bool
}

// New returns a counter over the window with that number of buckets. The window has at least as many
// nanoseconds as buckets.
func New(window time.Duration, buckets int) Counter {
	return Counter{width: window / time.Duration(buckets), ring: make([]int, buckets+1)}
}

// Added adds n events.
func (c *Counter) Added(now time.Time, n int) {
	if !c.begun {
		c.origin, c.begun = now, true
	}
	for at := c.bucket(now); c.newest < at; {
		if at-c.newest > int64(len(c.ring)) {
			c.newest = at - int64(len(c.ring)) // all are over
		}
		c.newest++
		b := c.at(c.newest)
		c.sum -= *b
		*b = 0
	}
	*c.at(c.newest) += n
	c.sum += n
}

// Sum is the number of events within the window.
func (c *Counter) Sum(now time.Time) int {
	over := c.bucket(now) - c.newest
	if over <= 0 {
		return c.sum
	}
	return c.Within(now, len(c.ring)-1)
}

// Within is the number of events within the last buckets, and in the one that is not over yet.
func (c *Counter) Within(now time.Time, buckets int) int {
	sum := 0
	for n := c.bucket(now) - int64(min(buckets, len(c.ring)-1)); n <= c.newest; n++ {
		if n >= 0 {
			sum += *c.at(n)
		}
	}
	return sum
}

// bucket is the number of the bucket for that time.
func (c *Counter) bucket(now time.Time) int64 {
	if !c.begun {
		return 0
	}
	return max(c.newest, int64(now.Sub(c.origin)/c.width))
}

func (c *Counter) at(n int64) *int { return &c.ring[n%int64(len(c.ring))] }
