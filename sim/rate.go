package sim

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// allowed reports whether an attempt is within the rate, and refuses it if it is not. The
// clairvoyant's attempt comes again at the time at which it is.
func (s *server) allowed(e *engine, a *attempt) bool {
	allows := s.token
	if s.conf.Rate.Window > 0 {
		allows = s.place
	}
	now, at := allows(e)
	switch {
	case now:
		return true
	case e.clairvoyant:
		e.at(at, admitKind, a.id, a.gen)
	default:
		s.refuse(e, a, window.Overload)
	}
	return false
}

// fill adds the tokens that are due.
func (s *server) fill(now time.Duration) {
	due := (now - s.filled).Seconds() * s.perSecond
	s.tokens = min(s.conf.Rate.Burst, s.tokens+float64(due))
	s.filled = now
}

// token takes a token of the bucket. It reports whether there is one now, or when there is.
func (s *server) token(e *engine) (now bool, at time.Duration) {
	// A billionth of a token may be missing by rounding.
	const nearly = 1 - 1e-9
	s.fill(e.now)
	now = s.tokens >= nearly
	switch {
	case now || e.clairvoyant:
		s.tokens--
	case s.conf.Rate.CountRefused:
		s.tokens = max(s.tokens-1, -s.conf.Rate.Burst)
	}
	return now, e.now + min(time.Duration(-s.tokens/s.perSecond*float64(time.Second)), maxDuration)
}

// place takes a place in the sliding window. It reports whether there is one now, or when there is.
func (s *server) place(e *engine) (now bool, at time.Duration) {
	width := s.conf.Rate.Window
	gone, _ := slices.BinarySearch(s.passed, e.now-width+1)
	s.passed = s.passed[gone:]
	at = e.now
	most := int(math.RoundToEven(s.perSecond * width.Seconds()))
	now = len(s.passed) < most
	if !now && e.clairvoyant {
		at = s.passed[len(s.passed)-most] + width
	}
	if now || e.clairvoyant || s.conf.Rate.CountRefused {
		s.passed = append(s.passed, at)
	}
	return now, at
}
