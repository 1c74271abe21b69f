package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Constants of RFC 9438: sections 4.2 (C), 4.6 (beta) and 4.3 (alpha).
const (
	cubicC     = 0.4
	cubicBeta  = 0.7
	cubicAlpha = 3 * (1 - cubicBeta) / (1 + cubicBeta)
)

// cubic is CUBIC of RFC 9438: after a cut the window grows along a cubic curve, flat at
// where the last cut was, and at least as fast as Reno would.
type cubic struct {
	timed
	// most is W_max, prior the window before the last cut, reno W_est.
	most, prior, reno float64
	// began is the time when the present curve began, in seconds; negative before the first.
	began float64
	// k is the time that the curve takes to reach most.
	k float64
}

func newCubic(window.Settings) window.Law { return &cubic{began: -1} }

func (c *cubic) Answered(now time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Overloaded() && !a.Ignored:
		return c.cut(s, a)
	case !a.Outcome.Accepted() || !full(s, a):
		return s
	case s.Cwnd < s.Ssthresh:
		s.Cwnd++
		return s
	}
	at := now.Seconds()
	if c.began < 0 {
		c.begin(at, s.Cwnd)
	}
	alpha := cubicAlpha
	if c.reno >= c.prior {
		alpha = 1
	}
	c.reno += alpha / s.Cwnd
	if at -= c.began; c.curve(at) < c.reno {
		s.Cwnd = max(s.Cwnd, c.reno)
		return s
	}
	target := min(max(c.curve(at+seconds(a.RTT)), s.Cwnd), 1.5*s.Cwnd)
	s.Cwnd += (target - s.Cwnd) / s.Cwnd
	return s
}

// begin begins a curve at the end of slow start or after a cut (section 4.2).
func (c *cubic) begin(at, cwnd float64) {
	c.began, c.reno, c.most = at, cwnd, max(c.most, cwnd)
	c.k = math.Cbrt((c.most - cwnd) / cubicC)
}

func (c *cubic) curve(t float64) float64 { return cubicC*math.Pow(t-c.k, 3) + c.most }

// cut is the multiplicative decrease with fast convergence (sections 4.6 to 4.8).
func (c *cubic) cut(s window.State, a window.End) window.State {
	was := c.most
	if c.prior, c.most = s.Cwnd, s.Cwnd; s.Cwnd < was {
		c.most *= (1 + cubicBeta) / 2
	}
	c.began = -1
	return lower(s, max(float64(a.Flying)*cubicBeta, 1), a)
}

// lower sets the window and the threshold of slow start; after a timeout the window is 1.
func lower(s window.State, to float64, a window.End) window.State {
	if s.Cwnd, s.Ssthresh = to, to; a.Outcome == window.Timeout {
		s.Cwnd = 1
	}
	return s
}

// vegas is TCP Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance
// on a global Internet", IEEE JSAC 13(8), 1995), in whole requests as ns-3 has it. Once a round
// trip the window moves by one, so that two to four requests are queued, or one in slow start.
// The number queued follows from this round trip and the shortest one. A refusal halves the
// window, as in Reno and in Linux.
type vegas struct {
	timed
	// base and least are the shortest round trips: of all, and of this one. In seconds.
	base, least float64
	// began is the time when this round began, samples how many were taken in it.
	began   time.Duration
	samples int
}

func newVegas(window.Settings) window.Law { return &vegas{base: math.Inf(1), least: math.Inf(1)} }

func (v *vegas) Answered(now time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Overloaded() && !a.Ignored:
		v.round(now)
		return lower(s, max(2, s.Cwnd/2), a)
	case !a.Outcome.Accepted():
		return s
	}
	rtt := seconds(a.RTT)
	v.base, v.least, v.samples = min(v.base, rtt), min(v.least, rtt), v.samples+1
	slow := s.Cwnd < s.Ssthresh
	if now-a.RTT < v.began { // sent in the round before
		if slow && full(s, a) {
			s.Cwnd++
		}
		return s
	}
	limit := math.Floor(s.Cwnd)
	expected := math.Floor(limit * v.base / v.least)
	switch queued := limit - expected; {
	case v.samples <= 2:
		s = s.Grown(a.Flying) // too few to know: Reno
	case slow && queued > 1:
		s.Cwnd = min(limit, expected+1)
		s.Ssthresh = max(2, min(s.Ssthresh, s.Cwnd-1))
	case slow && full(s, a):
		s.Cwnd++
	case queued > 4:
		s.Cwnd = limit - 1
		s.Ssthresh = min(s.Ssthresh, s.Cwnd-1)
	case !slow && queued < 2 && full(s, a):
		s.Cwnd = limit + 1
	}
	if v.samples > 2 {
		s.Ssthresh = max(s.Ssthresh, 0.75*s.Cwnd)
	}
	v.round(now)
	return s
}

func (v *vegas) round(now time.Duration) { v.began, v.least, v.samples = now, math.Inf(1), 0 }
