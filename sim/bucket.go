package sim

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// fill adds the tokens that are due.
func (s *server) fill(now time.Duration) {
	due := (now - s.filled).Seconds() * s.perSecond
	s.tokens = min(s.conf.Rate.Burst, s.tokens+float64(due))
	s.filled = now
}

// token takes a token for an attempt, or refuses it.
func (s *server) token(e *engine, a *attempt) bool {
	// A billionth of a token may be missing by rounding.
	const nearly = 1 - 1e-9
	s.fill(e.now)
	enough := s.tokens >= nearly
	if enough || e.clairvoyant {
		s.tokens--
	}
	switch {
	case enough:
		return true
	case e.clairvoyant:
		e.after(time.Duration(-s.tokens/s.perSecond*float64(time.Second)), admitKind, a.id, a.gen)
	default:
		if s.conf.Rate.CountRefused {
			s.tokens = max(s.tokens-1, -s.conf.Rate.Burst)
		}
		s.refuse(e, a, window.Overload)
	}
	return false
}
