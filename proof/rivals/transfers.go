package main

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

const azCopyInterval = 4 * time.Second

// azCopy is the concurrency tuner of AzCopy (MIT), out of its benchmark mode: it goes up by a factor while a
// fifth of that comes back as speed, then one step back, and goes on with a smaller factor. At the end the limit
// stays for ever. Every 4 s it measures, here answers a second, and leaves one interval out after each change.
type azCopy struct {
	timed
	most, factor float64
	// before is the limit before a step up, 0 if there was none; wanted is the speed that the step must bring.
	before, wanted float64
	backs          int
	done, settled  bool
	next           time.Duration
	n              int
}

func newAzCopy(window.Settings) window.Law {
	return &azCopy{most: 3000, factor: 4, next: azCopyInterval}
}

func (z *azCopy) Answered(now time.Duration, s window.State, a window.End) window.State {
	if a.Outcome.Accepted() {
		z.n++
	}
	if now < z.next {
		return s
	}
	limit := s.Cwnd
	if z.settled {
		s.Cwnd = z.tune(limit, float64(z.n)/(now-z.next+azCopyInterval).Seconds())
	}
	z.settled = !z.settled || s.Cwnd == limit
	z.n, z.next = 0, now+azCopyInterval
	return s
}

// tune is the next limit after one at that speed.
func (z *azCopy) tune(limit, speed float64) float64 {
	switch stepped := z.before > 0; {
	case z.done:
		return limit
	case stepped && speed <= z.wanted:
		limit, z.before = z.before, 0
		if z.factor > 2 {
			z.factor = 2
		} else {
			z.factor = 1 + (z.factor-1)/5
		}
		for z.backs++; z.backs <= 2 && math.Floor(z.factor*limit) == math.Floor(limit); {
			z.factor += 0.05
		}
		z.done = z.factor < 1.19
		return limit
	case stepped && limit >= z.most:
		z.done = true
		return limit
	}
	if limit >= 256 {
		z.factor = min(z.factor, 2)
	}
	z.factor = min(z.factor, z.most/limit)
	z.before, z.wanted = limit, speed*(1+(z.factor-1)*0.2)
	return limit * z.factor
}

// The phases of s3Transfer.
const (
	s3Start = iota
	s3Probing
	s3Shedding
)

// s3Transfer is the goodput control of the AWS S3 Transfer Manager for Rust (Apache-2.0): 32 more while that
// brings a tenth, then probes of 2% upwards, and after three in vain ever larger ones downwards while 98% of the
// goodput stays. A refusal begins the way down at once. Goodput is answers a second since the last evaluation here.
type s3Transfer struct {
	timed
	phase             int
	accepted, probing float64
	// same is the number of equal verdicts in a row; recent and raw are the last goodputs, smoothed and as measured.
	same        int
	recent, raw []float64
	last        time.Duration
	n, most     int
}

func newS3Transfer(window.Settings) window.Law { return &s3Transfer{accepted: 32, probing: 32} }

func (c *s3Transfer) Answered(now time.Duration, s window.State, a window.End) window.State {
	c.most = max(c.most, a.Flying)
	switch {
	case a.Outcome.Overloaded() && c.phase != s3Shedding:
		c.enter(s3Shedding)
	case a.Outcome.Accepted():
		c.n++
	}
	interval := 500 * time.Millisecond
	if c.phase == s3Start {
		interval = 300 * time.Millisecond
	}
	if now-c.last < interval {
		return s
	}
	if c.n > 0 {
		c.raw = latest(c.raw, float64(c.n)/(now-c.last).Seconds(), 4)
		s.Cwnd = c.evaluate(slices.Max(c.raw), c.most)
	}
	c.last, c.n, c.most = now, 0, 0
	return s
}

// evaluate is the next limit after that goodput with so many in flight at most.
func (c *s3Transfer) evaluate(goodput float64, flying int) float64 {
	c.recent = latest(c.recent, goodput, 10)
	before := c.recent[:len(c.recent)-1]
	switch up := math.Ceil(c.accepted * 1.02); {
	case len(before) == 0 && c.phase == s3Start:
		c.probing = c.accepted + 32
	case len(before) == 0 || float64(flying) < c.accepted:
	case c.phase == s3Start && goodput >= 1.1*slices.Max(before):
		c.accepted, c.probing, c.same = c.probing, c.probing+32, 0
	case c.phase == s3Start:
		if c.same++; c.same >= 4 {
			c.enter(s3Probing)
			c.probing = up
		}
	case c.phase == s3Probing:
		if goodput >= 1.02*slices.Max(before) {
			c.accepted, c.same = c.probing, 0
		} else if c.same++; c.same >= 3 {
			c.enter(s3Shedding)
		}
		c.probing = math.Ceil(c.accepted * 1.02)
	case goodput >= 0.98*slices.Max(c.recent):
		c.same++
		c.accepted, c.probing = c.probing, math.Floor(c.probing*(1-0.02*float64(c.same+1)))
	default:
		c.enter(s3Probing)
		c.probing = up
	}
	return min(max(c.probing, 5), c.accepted+200)
}

// enter begins a phase; the goodputs of the start are forgotten.
func (c *s3Transfer) enter(phase int) {
	if c.phase == s3Start {
		c.recent, c.raw = nil, nil
	}
	c.phase, c.same = phase, 0
}

// latest appends a value, and keeps the last n.
func latest(values []float64, v float64, n int) []float64 {
	values = append(values, v)
	return values[max(0, len(values)-n):]
}
