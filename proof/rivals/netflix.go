package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// netflixAIMD is AIMDLimit of Netflix's concurrency-limits (Apache-2.0): one more for each
// success while at least half of the limit is used, a tenth less for each refusal and each
// answer that takes more than 5 s. It does not know bursts.
type netflixAIMD struct{ timed }

func newNetflixAIMD(window.Settings) window.Law { return netflixAIMD{} }

func (netflixAIMD) Answered(_ time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Overloaded() || a.RTT > 5*time.Second:
		s.Cwnd = max(1, math.Floor(s.Cwnd*0.9))
	case a.Outcome.Accepted() && float64(2*a.Flying) >= s.Cwnd:
		s.Cwnd++
	}
	return s
}

// dialogue is the client-side AIMD of palantir/dialogue (Apache-2.0). It has one more for each
// limit of successes with nine tenths of the limit in flight, a tenth less for each refusal.
type dialogue struct{ timed }

func newDialogue(window.Settings) window.Law { return dialogue{} }

func (dialogue) Answered(_ time.Duration, s window.State, a window.End) window.State {
	least := math.Floor(s.Cwnd * 0.9)
	switch {
	case a.Outcome.Overloaded():
		s.Cwnd = max(1, least)
	case a.Outcome.Accepted() && float64(a.Flying) >= least:
		s.Cwnd += 1 / s.Cwnd
	}
	return s
}

// netflixVegas is VegasLimit of Netflix's concurrency-limits with the defaults of its builder. Every answer moves the
// limit by the queue that the round trip and the shortest one imply. The original resets the shortest round trip after
// 15 to 30 answers for each place of the limit, at random. Here it is always 30.
type netflixVegas struct {
	timed
	// base is the shortest round trip in seconds, 0 before the first answer.
	base float64
	// probe is the number of answers since the last reset of base.
	probe int
	// smooth is the share of a new limit that counts; fall is the limit after a refusal.
	smooth float64
	fall   func(limit float64) float64
}

func newNetflixVegas(window.Settings) window.Law {
	return &netflixVegas{smooth: 1, fall: func(limit float64) float64 { return limit - digits(limit) }}
}

func (v *netflixVegas) Answered(_ time.Duration, s window.State, a window.End) window.State {
	if !a.Outcome.Accepted() && !a.Outcome.Overloaded() {
		return s
	}
	rtt := seconds(a.RTT)
	v.probe++
	switch {
	case float64(v.probe) >= 30*s.Cwnd:
		v.probe, v.base = 0, rtt
		return s
	case v.base == 0 || rtt < v.base:
		v.base = rtt
		return s
	}
	limit, step := s.Cwnd, digits(s.Cwnd)
	queued := math.Ceil(limit * (1 - v.base/rtt))
	switch {
	case a.Outcome.Overloaded():
		limit = v.fall(limit)
	case float64(2*a.Flying) < limit:
		return s
	case queued <= step:
		limit += 6 * step
	case queued < 3*step:
		limit += step
	case queued > 6*step:
		limit -= step
	}
	s.Cwnd = max(1, s.Cwnd+v.smooth*(limit-s.Cwnd))
	return s
}

// digits is the whole decimal logarithm of a limit, 1 at least.
func digits(limit float64) float64 { return max(1, math.Floor(math.Log10(limit))) }

// averageWarm is the number of values with a plain mean.
const averageWarm = 10

// average is the plain mean of the first values, and an exponential one from there on, in which
// the last window values count most: ExpAvgMeasurement of Netflix, MovingAverage of failsafe-go.
type average struct {
	window, sum, value float64
	n                  int
}

func (a *average) add(x float64) float64 {
	if a.n < averageWarm {
		a.n, a.sum = a.n+1, a.sum+x
		a.value = a.sum / float64(a.n)
	} else {
		a.value += (x - a.value) * 2 / (a.window + 1)
	}
	return a.value
}

// gradient2 is Gradient2Limit of Netflix's concurrency-limits inside its WindowedLimit, each
// with its defaults: once a second the window is multiplied by 1.5 times the long mean round
// trip over the mean of the last second, at most by 1, and gets 4 more; smoothed by 0.2. It
// looks at latency alone: a refusal is one more answer, and a quick one.
type gradient2 struct {
	timed
	// tolerance is how much slower than the long mean an answer may be. decay is the rest of the long mean after a
	// second that was more than twice as quick.
	tolerance, decay float64
	long             average
	// next is the time when this second ends. The rest is about this second.
	next    time.Duration
	sum     float64
	n, most int
}

func newGradient2(window.Settings) window.Law {
	return &gradient2{tolerance: 1.5, decay: 0.95, long: average{window: 600}}
}

func (g *gradient2) Answered(now time.Duration, s window.State, a window.End) window.State {
	if a.RTT < 100*time.Microsecond || !a.Outcome.Accepted() && !a.Outcome.Overloaded() {
		return s
	}
	g.sum, g.n, g.most = g.sum+seconds(a.RTT), g.n+1, max(g.most, a.Flying)
	if now <= g.next {
		return s
	}
	if g.n >= 10 {
		s.Cwnd = g.limit(s.Cwnd, g.sum/float64(g.n), g.most)
	}
	g.next, g.sum, g.n, g.most = now+time.Second, 0, 0, 0
	return s
}

func (g *gradient2) limit(limit, rtt float64, flying int) float64 {
	long := g.long.add(rtt)
	if long > 2*rtt {
		g.long.value *= g.decay
	}
	if float64(flying) < limit/2 {
		return limit
	}
	gradient := min(max(g.tolerance*long/rtt, 0.5), 1)
	return limit + 0.2*(limit*gradient+4-limit)
}
