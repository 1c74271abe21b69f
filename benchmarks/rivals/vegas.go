package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// The bounds of what Vegas keeps queued at the service, in requests, as Linux has them
// (net/ipv4/tcp_vegas.c).
const (
	vegasAlpha = 2
	vegasBeta  = 4
	vegasGamma = 1
)

// vegas is TCP Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance
// on a global Internet", IEEE JSAC 13(8), 1995), as Linux has it. Once a round trip the
// window moves by one, so that alpha to beta requests are queued. The number queued follows
// from this round trip and the shortest one. A refusal halves the window, as in Reno.
type vegas struct {
	timed
	// base and least are the shortest round trips: of all, and of this one. In seconds.
	base, least float64
	// began is when this round began, samples how many were taken in it.
	began   time.Duration
	samples int
}

func newVegas(window.Settings) window.Law { return &vegas{base: math.Inf(1), least: math.Inf(1)} }

func (v *vegas) Answered(now time.Duration, s window.State, a window.Answer) window.State {
	switch {
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Ssthresh = max(2, s.Cwnd/2)
		s.Cwnd = s.Ssthresh
		if a.Outcome == window.Timeout {
			s.Cwnd = 1
		}
		v.round(now)
		return s
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
	queued := s.Cwnd * (v.least - v.base) / v.base
	switch {
	case v.samples <= 2:
		s = s.Grown(a.Flying) // too few to know: Reno
	case slow && queued > vegasGamma:
		s.Cwnd = min(s.Cwnd, s.Cwnd*v.base/v.least+1)
		s.Ssthresh = min(s.Ssthresh, s.Cwnd)
	case slow && full(s, a):
		s.Cwnd++
	case queued > vegasBeta:
		s.Cwnd = max(2, s.Cwnd-1)
		s.Ssthresh = min(s.Ssthresh, s.Cwnd)
	case !slow && queued < vegasAlpha && full(s, a):
		s.Cwnd++
	}
	v.round(now)
	return s
}

// round begins a new round trip.
func (v *vegas) round(now time.Duration) { v.began, v.least, v.samples = now, math.Inf(1), 0 }
