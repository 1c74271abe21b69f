// Package sliding counts requests over a sliding window of time. It is pure: the time, since any start that stays
// the same, is an argument.
package sliding

import "time"

// Counts are the numbers of requests and of marked requests: retries, or accepted requests.
type Counts struct{ All, Marked int }

// Counter has the counts within the last while, kept in buckets of equal width. A sum covers the time asked
// for, and up to one bucket more: requests leave a bucket at a time, and not early.
//
// A time before the last one counts as the last one. Make a Counter with New; copies share their buckets.
type Counter struct {
	width time.Duration
	// ring has a bucket for each part of the window and one for the newest part, which is not over yet.
	ring []Counts
	// sum is the sum of all buckets.
	sum Counts
	// newest is the number of the newest bucket.
	newest int64
}

// New returns a counter over the window with that number of buckets. The window has at least as many
// nanoseconds as buckets.
func New(window time.Duration, buckets int) Counter {
	return Counter{width: window / time.Duration(buckets), ring: make([]Counts, buckets+1)}
}

// Added counts a request.
func (c *Counter) Added(now time.Duration, marked bool) {
	for at := c.bucket(now); c.newest < at; {
		if at-c.newest > int64(len(c.ring)) {
			c.newest = at - int64(len(c.ring)) // all are over
		}
		c.newest++
		over := c.at(c.newest)
		c.sum.add(-over.All, -over.Marked)
		*over = Counts{}
	}
	n := 0
	if marked {
		n = 1
	}
	c.at(c.newest).add(1, n)
	c.sum.add(1, n)
}

// Sum returns the counts within the window.
func (c *Counter) Sum(now time.Duration) Counts {
	if c.bucket(now) == c.newest {
		return c.sum
	}
	return c.Within(now, len(c.ring)-1)
}

// Within returns the counts within the last buckets, the present bucket included.
func (c *Counter) Within(now time.Duration, buckets int) (sum Counts) {
	for n := max(c.bucket(now)-int64(min(buckets, len(c.ring)-1)), 0); n <= c.newest; n++ {
		b := c.at(n)
		sum.add(b.All, b.Marked)
	}
	return sum
}

// bucket is the number of the bucket for that time.
func (c *Counter) bucket(now time.Duration) int64 { return max(c.newest, int64(now/c.width)) }

func (c *Counter) at(n int64) *Counts { return &c.ring[n%int64(len(c.ring))] }

func (c *Counts) add(all, marked int) {
	c.All += all
	c.Marked += marked
}
