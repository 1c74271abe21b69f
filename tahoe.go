package aimd

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Tahoe is the control law "Tahoe" of [Improve on exponential backoff]. The first error of each burst:
//
//	"set sshthres to cwnd * 0.5 and cwnd to ... the initial value"
//
// The factor is Settings.Factor, the initial value Settings.Initial.
//
// [Improve on exponential backoff]: https://www.aeoncase.com/blog/posts/improve-on-exponential-backoff/
func Tahoe(s window.Settings) window.Law { return tahoe{initial: s.Initial, factor: s.Factor} }

type tahoe struct{ initial, factor float64 }

func (t tahoe) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	switch {
	case a.Outcome.Accepted():
		return s.Grown(a.Flying)
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Ssthresh = s.Cwnd * t.factor
		s.Cwnd = t.initial
	}
	return s
}

func (tahoe) Timed() bool { return false }
