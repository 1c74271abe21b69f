package main

import (
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
