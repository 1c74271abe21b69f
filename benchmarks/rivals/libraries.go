package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// netflixAIMD is AIMDLimit of Netflix's concurrency-limits: one more for each success
// while at least half of the limit is used, a tenth less for each refusal and each
// answer that takes more than 5 s. It does not know bursts.
type netflixAIMD struct{ timed }

func newNetflixAIMD(window.Settings) window.Law { return netflixAIMD{} }

func (netflixAIMD) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	switch {
	case a.Outcome.Overloaded() || a.RTT > 5*time.Second:
		s.Cwnd = max(1, min(s.Cwnd-1, float64(int(s.Cwnd*0.9))))
	case a.Outcome.Accepted() && float64(2*a.Flying) >= s.Cwnd:
		s.Cwnd++
	}
	return s
}

// gradient2 is Gradient2Limit of Netflix's concurrency-limits inside its WindowedLimit,
// each with its defaults: once a second the window is multiplied by the long mean round
// trip over the mean of the last second, and gets 4 more; smoothed by 0.2. It looks at
// latency alone: a refusal is one more answer, and a quick one.
type gradient2 struct {
	timed
	next  time.Duration
	sum   float64
	n     int
	most  int
	long  float64
	count int
}

// Defaults of Gradient2Limit and of ExpAvgMeasurement below it.
const (
	gradientQueue  = 4
	gradientSmooth = 0.2
	gradientLong   = 600
	gradientWarm   = 10
)

func newGradient2(window.Settings) window.Law { return &gradient2{} }

func (g *gradient2) Answered(now time.Duration, s window.State, a window.Answer) window.State {
	g.most = max(g.most, a.Flying)
	if a.Outcome.Accepted() || a.Outcome.Overloaded() {
		g.sum, g.n = g.sum+seconds(a.RTT), g.n+1
	}
	if now < g.next || g.n < 10 {
		return s
	}
	short, most := g.sum/float64(g.n), g.most
	g.next, g.sum, g.n, g.most = now+time.Second, 0, 0, 0
	g.average(short)
	if g.long > 2*short {
		g.long *= 0.9
	}
	if float64(most) < s.Cwnd/2 {
		return s
	}
	gradient := min(max(g.long/short, 0.5), 1)
	s.Cwnd += gradientSmooth * (s.Cwnd*gradient + gradientQueue - s.Cwnd)
	return s
}

// average adds to the long mean: a plain one at first, then an exponential one.
func (g *gradient2) average(x float64) {
	if g.count < gradientWarm {
		g.count++
		g.long += (x - g.long) / float64(g.count)
		return
	}
	g.long += (x - g.long) * 2 / (gradientLong + 1)
}

// Defaults of Vector's adaptive request concurrency:
// https://vector.dev/docs/architecture/arc/ and the adaptive_concurrency settings of
// its sinks.
const (
	arcAlpha    = 0.4
	arcScale    = 2.5
	arcDecrease = 0.9
)

// arc is Vector's adaptive request concurrency: once a mean round trip it adds one if
// the limit was reached and answers were no slower than before, and takes a tenth off
// after a refusal, or when they were slower by 2.5 standard deviations.
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

func (c *arc) Answered(now time.Duration, s window.State, a window.Answer) window.State {
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
	if c.known {
		s.Cwnd = c.decide(s.Cwnd, rtt)
	}
	if c.n > 0 {
		c.learn(rtt)
	}
	c.next = now + time.Duration(c.mean*float64(time.Second))
	c.sum, c.n, c.refused, c.reached = 0, 0, false, false
	return s
}

// decide is the limit after a round with that mean, 0 if no answer was accepted.
func (c *arc) decide(limit, rtt float64) float64 {
	switch {
	case c.reached && !c.refused && c.n > 0 && rtt <= c.mean:
		return limit + 1
	case c.refused || rtt >= c.mean+arcScale*math.Sqrt(c.variance):
		return max(1, math.Floor(limit*arcDecrease))
	}
	return limit
}

// learn adds a round's mean to the exponentially weighted mean and variance.
func (c *arc) learn(rtt float64) {
	if !c.known {
		c.mean, c.known = rtt, true
		return
	}
	difference := rtt - c.mean
	step := arcAlpha * difference
	c.mean += step
	c.variance = (1 - arcAlpha) * (c.variance + difference*step)
}
