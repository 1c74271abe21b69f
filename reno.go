package aimd

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Reno is the control law "Reno" of [Improve on exponential backoff], after RFC 5681 without fast
// retransmit, which has no counterpart here. The first error of each burst:
//
//	"set sshthres to cwnd * 0.5 and cwnd to ... the new sshthres"
//
// The factor is Settings.Factor.
//
// [Improve on exponential backoff]: https://www.aeoncase.com/blog/posts/improve-on-exponential-backoff/
func Reno(s window.Settings) window.Law { return reno{factor: s.Factor} }

type reno struct{ factor float64 }

func (r reno) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	switch {
	case a.Outcome.Accepted():
		return s.Grown(a.Flying)
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Ssthresh = s.Cwnd * r.factor
		s.Cwnd = s.Ssthresh
	}
	return s
}

func (reno) Timed() bool { return false }
