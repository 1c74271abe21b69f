package aimd

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// NewReno returns a limiter with the Reno law: a cut falls to the new threshold, and growth continues from
// there. It is one of the two laws of the text, to the letter; take it to compare, or with WithFactor(0.9)
// for a service whose limit is fairly stable. For other uses take New, whose law needs no factor.
func NewReno(opts ...Option) (*Limiter, error) { return newWith(Reno, opts) }

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
