package aimd

import (
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

// Reno is the control law "Reno" of [Improve on exponential backoff], after RFC 5681 without fast
// retransmit, which has no counterpart here. The first error of each burst:
//
//	"set sshthres to cwnd * 0.5 and cwnd to ... the new sshthres"
//
// factor is the part of the window that a cut keeps: greater than 0, less than 1, otherwise New returns an error. 0
// means 0.5, as in the text; 0.9 is for a fairly stable limit of 16 or more. Use Reno to compare, or for such a
// limit. [Probe] needs no factor.
//
// [Improve on exponential backoff]: https://www.aeoncase.com/blog/posts/improve-on-exponential-backoff/
func Reno(factor float64) window.NewLaw {
	err := check.Share("factor", &factor, 0.5)
	return func(window.Settings) window.Law { return valid(err, reno{factor: factor}) }
}

// wrongLaw is a law that cannot be made; see window.NewLaw.
type wrongLaw struct {
	window.Law
	error
}

func (w wrongLaw) Unwrap() error { return w.error }

func valid(err error, law window.Law) window.Law {
	if err != nil {
		return wrongLaw{error: err}
	}
	return law
}

type reno struct{ factor float64 }

func (r reno) Answered(_ time.Duration, s window.State, a window.End) window.State {
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
