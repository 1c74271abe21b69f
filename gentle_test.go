package aimd_test

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// newGentle and gentle are a law from outside, for ExampleNew.
func newGentle(window.Settings) window.Law { return gentle{} }

type gentle struct{}

func (gentle) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	switch {
	case a.Outcome.Accepted():
		s.Cwnd += (s.Grown(a.Flying).Cwnd - s.Cwnd) / 2
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Cwnd *= 0.95
		s.Ssthresh = s.Cwnd
	}
	return s
}

func (gentle) Timed() bool { return false }
