package fleet

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Follower is the law of a process: it counts, and leaves a window that is a share. Alone it is a law of its own, made for one of
// N. Make one with Follow.
type Follower struct {
	member   *Member
	law      window.NewLaw
	settings window.Settings
	own      window.Law
}

// Follow makes a Follower, or a law that is an error.
func Follow(m *Member, law window.NewLaw, s window.Settings) window.Law {
	own := law(s)
	if _, wrong := own.(error); wrong || own == nil {
		return own
	}
	return &Follower{member: m, law: law, settings: s}
}

// Timed implements window.Law.
func (l *Follower) Timed() bool { return true }

// Explain implements window.Explained.
func (l *Follower) Explain() (cause, phase string) {
	if law, ok := l.own.(window.Explained); ok {
		return law.Explain()
	}
	return "", ""
}

// Answered implements window.Law.
func (l *Follower) Answered(now time.Duration, s window.State, a window.End) window.State {
	if !l.member.Ended(now, a) {
		return window.State{Cwnd: window.MinWindow, Ssthresh: window.MaxWindow, Trip: s.Trip}
	}
	if l.member.mode != Alone {
		l.own = nil
		if l.member.whole > 0 {
			s.Cwnd = l.member.room(now, s.Trip)
		}
		return s
	}
	n := l.member.peers
	most := max(window.MinWindow, l.settings.Max/float64(n))
	if l.own == nil {
		l.own = l.law(window.Settings{Initial: min(most, max(1, l.settings.Initial)), Min: l.settings.Min, Max: most, Peers: n})
	}
	next := ask(l.own, now, s, a)
	next.Cwnd = min(next.Cwnd, most)
	return next
}

// ask asks a law as package window does: one that needs no time learns of no success while the window is not full.
func ask(law window.Law, now time.Duration, s window.State, a window.End) window.State {
	if !law.Timed() && a.Outcome.Accepted() && float64(a.Flying+1) <= s.Cwnd {
		return s
	}
	return law.Answered(now, s, a)
}
