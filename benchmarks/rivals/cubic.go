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
	// began is when the present curve began, in seconds; negative before the first.
	began float64
	// k is how long the curve takes to reach most.
	k float64
}

func newCubic(window.Settings) window.Law { return &cubic{began: -1} }

func (c *cubic) Answered(now time.Duration, s window.State, a window.Answer) window.State {
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

// cut is the multiplicative decrease with fast convergence (sections 4.6 and 4.7); after
// a timeout the window is 1 (section 4.8).
func (c *cubic) cut(s window.State, a window.Answer) window.State {
	c.prior = s.Cwnd
	if s.Cwnd < c.most {
		c.most = s.Cwnd * (1 + cubicBeta) / 2
	} else {
		c.most = s.Cwnd
	}
	s.Ssthresh = max(float64(a.Flying)*cubicBeta, 1)
	s.Cwnd = s.Ssthresh
	if a.Outcome == window.Timeout {
		s.Cwnd = 1
	}
	c.began = -1
	return s
}
