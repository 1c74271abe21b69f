package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// tower is the AIMD of tower-resilience (MIT or Apache-2.0). A success within 100 ms adds one; a slower one halves the
// limit, as a failure does.
type tower struct {
	timed
	add, factor float64
	slow        time.Duration
}

func newTower(window.Settings) window.Law {
	return tower{add: 1, factor: 0.5, slow: 100 * time.Millisecond}
}

func (t tower) Answered(_ time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Accepted() && a.RTT <= t.slow:
		s.Cwnd += t.add
	case a.Outcome.Accepted() || a.Outcome.Overloaded():
		s.Cwnd = max(1, math.Floor(s.Cwnd*t.factor))
	}
	return s
}

// zenvark is zenvark's adaptive semaphore (MIT), whose limit all processes share in Redis; here it is the limit of
// one process. A refusal halves the limit, once in 10 s. A success adds one, once in 5 s, if the limit was reached
// and nothing was refused for 5 s. It has no first limit of its own; 10 is the first limit of its tests. Other
// failures are neutral there.
type zenvark struct {
	timed
	// cut, grown and refused are the times of the last ones.
	cut, grown, refused time.Duration
	// wasCut, wasGrown and wasRefused: there was one.
	wasCut, wasGrown, wasRefused bool
}

func newZenvark(window.Settings) window.Law { return &zenvark{} }

func (z *zenvark) Answered(now time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome == window.Overload:
		if z.wasRefused, z.refused = true, now; !z.wasCut || now-z.cut >= 10*time.Second {
			z.wasCut, z.cut = true, now
			s.Cwnd = max(1, math.Floor(s.Cwnd/2))
		}
	case !a.Outcome.Accepted() || !full(s, a) || z.wasRefused && now-z.refused < 5*time.Second:
	case !z.wasGrown || now-z.grown >= 5*time.Second:
		z.wasGrown, z.grown = true, now
		s.Cwnd++
	}
	return s
}
