package main

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// arc is Vector's adaptive request concurrency (MPL-2.0) with its defaults: once a mean round
// trip it adds one if the limit was reached and answers were no slower than before, and takes a
// tenth off after a refusal, or when they were slower by 2.5 standard deviations. The latest
// round counts 0.4 in the mean and in the variance.
type arc struct {
	timed
	// mean and variance describe the rounds' round trips; known: there are some.
	mean, variance float64
	known          bool
	// next is the time when this round ends. The rest is about this round.
	next             time.Duration
	sum              float64
	n                int
	refused, reached bool
}

func newARC(window.Settings) window.Law { return &arc{} }

func (c *arc) Answered(now time.Duration, s window.State, a window.End) window.State {
	c.refused = c.refused || a.Outcome.Overloaded()
	c.reached = c.reached || full(s, a)
	if a.Outcome.Accepted() {
		c.sum, c.n = c.sum+seconds(a.RTT), c.n+1
	}
	if c.known && now < c.next || !c.known && c.n == 0 {
		return s
	}
	// To a microsecond, as in Vector's own tests. If all round trips are equal, as in a
	// simulation, the rounding of the sum would otherwise count as slower.
	rtt := math.Round(c.sum/float64(max(c.n, 1))*1e6) / 1e6
	if !c.known { // the first answer counts in the first round too
		c.mean, c.known, c.next = rtt, true, now+time.Duration(rtt*float64(time.Second))
		return s
	}
	s.Cwnd = c.decide(s.Cwnd, rtt)
	if c.n > 0 {
		difference := rtt - c.mean
		c.mean += 0.4 * difference
		c.variance = 0.6 * (c.variance + 0.4*difference*difference)
	}
	c.next = now + time.Duration(c.mean*float64(time.Second))
	c.sum, c.n, c.refused, c.reached = 0, 0, false, false
	return s
}

// decide is the limit after a round with that mean, 0 if no answer was accepted.
func (c *arc) decide(limit, rtt float64) float64 {
	switch {
	case limit < 200 && c.reached && !c.refused && c.n > 0 && rtt <= c.mean:
		return limit + 1
	case c.refused || rtt >= c.mean+2.5*math.Sqrt(c.variance):
		return max(1, math.Floor(limit*0.9))
	}
	return limit
}

// failsafe is the adaptive limiter of failsafe-go (MIT). Once a second it compares the slow answers of the
// second with their mean, and moves the limit by the queue that this implies. When the limit is full and more in
// flight brings no throughput, it goes down too. A refusal is one more answer, and a quick one.
type failsafe struct {
	timed
	samples      int
	next         time.Duration
	rtts, slow   []float64
	most         int
	recent, base average
	// flying, passed and took are the numbers in flight, the throughputs and the round trips of the last updates.
	flying, passed, took []float64
}

func newFailsafe(window.Settings) window.Law {
	return &failsafe{samples: 50, recent: average{window: 5}, base: average{window: 10}}
}

func (f *failsafe) Answered(now time.Duration, s window.State, a window.End) window.State {
	if !a.Outcome.Accepted() && a.Outcome != window.Overload {
		return s
	}
	f.rtts, f.most = append(f.rtts, seconds(a.RTT)), max(f.most, a.Flying)
	if now <= f.next || len(f.rtts) < f.samples {
		return s
	}
	slices.Sort(f.rtts)
	rtt := f.rtts[int(math.Ceil(0.9*float64(len(f.rtts))))-1]
	if f.slow = latest(f.slow, rtt, 5); len(f.slow) == 5 {
		rtt = slices.Sorted(slices.Values(f.slow))[2]
	}
	s.Cwnd = f.update(s.Cwnd, f.recent.add(rtt), full(s, a))
	f.next = now + time.Duration(min(max(2*f.rtts[0], 1), 30)*float64(time.Second))
	f.rtts, f.most = f.rtts[:0], 0
	return s
}

func (f *failsafe) update(limit, rtt float64, full bool) float64 {
	step := digits(limit)
	queued := math.Ceil(limit * (1 - f.base.add(rtt)/rtt))
	f.flying = latest(f.flying, float64(f.most), 50)
	f.passed = latest(f.passed, float64(f.most)/rtt, 50)
	f.took = latest(f.took, rtt, 50)
	gain, spread := correlation(f.flying, f.passed)
	slower, _ := correlation(f.flying, f.took)
	next := limit
	switch {
	case queued > 6*step, full && (gain < 0 || slower > 0.5 && (gain < 0.3 || spread < 0.2)):
		next -= step
	case queued < 3*step:
		next += step
	}
	if most := 5 * float64(f.most); next > most {
		if next = most; limit > most {
			next = limit - step
		}
	}
	return next
}

// correlation is the correlation of two windows, and the relative deviation of y. It is 0 of less
// than ten values, and of values that deviate by less than a hundredth.
func correlation(x, y []float64) (r, spread float64) {
	n := float64(len(x))
	var sx, sy, xx, yy, xy float64
	for i := range x {
		sx, sy = sx+x[i]/n, sy+y[i]/n
	}
	for i := range x {
		dx, dy := x[i]-sx, y[i]-sy
		xx, yy, xy = xx+dx*dx/n, yy+dy*dy/n, xy+dx*dy/n
	}
	spread = math.Sqrt(yy) / sy
	switch {
	case n < averageWarm:
		return 0, 0
	case math.Sqrt(xx)/sx < 0.01 || spread < 0.01:
		return 0, spread
	}
	return xy / math.Sqrt(xx*yy), spread
}
