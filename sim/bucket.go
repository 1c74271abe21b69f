package sim

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// allowed tells whether an attempt is within the rate, else refuses it.
func (s *server) allowed(e *engine, a *attempt) bool {
	if s.conf.Rate.Window > 0 {
		return s.passes(e, a)
	}
	return s.token(e, a)
}

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

// passes takes a place in the sliding window for an attempt, or refuses it.
func (s *server) passes(e *engine, a *attempt) bool {
	width := s.conf.Rate.Window
	gone, _ := slices.BinarySearch(s.passed, e.now-width+1)
	s.passed = s.passed[gone:]
	at, most := e.now, int(math.RoundToEven(s.perSecond*width.Seconds()))
	full := len(s.passed) >= most
	if full && e.clairvoyant {
		at = s.passed[len(s.passed)-most] + width
	}
	if !full || e.clairvoyant || s.conf.Rate.CountRefused {
		s.passed = append(s.passed, at)
	}
	switch {
	case !full:
		return true
	case e.clairvoyant:
		e.at(at, admitKind, a.id, a.gen)
	default:
		s.refuse(e, a, window.Overload)
	}
	return false
}
