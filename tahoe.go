package aimd

import (
	"cmp"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

// Tahoe is the control law "Tahoe" of [Improve on exponential backoff]. The first error of each burst:
//
//	"set sshthres to cwnd * 0.5 and cwnd to ... the initial value"
//
// factor is the part of the window that a cut keeps: greater than 0, less than 1; 0 means 0.5, as in the text.
// initial is the window after a cut, in attempts, from 1; 0 means the initial window of the limiter. Set it well below the
// limit of the service:
// otherwise each restart is the next burst of refusals. Other numbers are an error of New.
//
// [Improve on exponential backoff]: https://www.aeoncase.com/blog/posts/improve-on-exponential-backoff/
func Tahoe(factor, initial float64) window.NewLaw {
	err := check.Share("factor", &factor, 0.5)
	if initial != 0 {
		err = cmp.Or(err, check.Number("initial", &initial, 0, window.MinWindow, window.MaxWindow))
	}
	return func(s window.Settings) window.Law {
		return valid(err, tahoe{factor: factor, initial: cmp.Or(initial, s.Initial)})
	}
}

type tahoe struct{ initial, factor float64 }

func (t tahoe) Answered(_ time.Duration, s window.State, a window.End) window.State {
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
