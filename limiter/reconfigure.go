package limiter

import (
	"fmt"

	"github.com/aimd-go/aimd/window"
)

// Config returns what is in force, with defaults filled in. To change one thing:
//
//	c := l.Config()
//	c.Window.Max = 64
//	err := l.Reconfigure(c)
func (l *Limiter) Config() Config { return *l.config.Load() }

// Reconfigure puts the limiter under new settings while it works, all of them
// or, with an error that names the one that is wrong, none. It drops nothing
// that is in flight and nobody that waits: a window that got smaller opens once
// enough attempts have ended, one that got larger lets waiters go at once. What was
// learned stays, cwnd as far as the new bounds allow it; a law that keeps state
// of its own begins it anew if a bound or the factor changed. An operation that backs
// off by itself already does so to the end; a pause for everybody ends no later
// than these settings let it. A new attempt limit holds for operations under way
// too, a new attempt timeout for attempts from then on.
//
// These stay as the limiter was made, whatever c says: Name, Clock, Observer, Classifier,
// Policy, Guards, Rand, StateFile, RestoreAge, and of the window Initial, Ssthresh and Timed. The initial
// window, where Tahoe restarts, is then the nearest that the bounds allow. Restore
// has no effect.
func (l *Limiter) Reconfigure(c Config) error {
	made := l.config.Load()
	c.Clock, c.Observer, c.Classifier, c.Policy = made.Clock, made.Observer, made.Classifier, made.Policy
	c.Guards, c.Rand, c.Name = made.Guards, made.Rand, made.Name
	c.Restore, c.StateFile, c.RestoreAge = State{}, made.StateFile, made.RestoreAge
	c.Window.Initial, c.Window.Ssthresh, c.Window.Timed = l.initial, made.Window.Ssthresh, made.Window.Timed
	clampInitial(&c.Window)
	c, err := c.withDefaults()
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	// Code of others, so not under the lock.
	law := l.law(c.Window)
	now := l.now()
	l.mu.Lock()
	before := l.core.State().Cwnd
	err = l.core.Reconfigured(now, func(window.Settings) window.Law { return law }, c.rules())
	if err == nil {
		l.config.Store(&c)
		l.note(now, Event{Kind: Reconfigured, Before: before})
	}
	l.unlock(now)
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// Validate returns the error that Reconfigure would return, nil if there is none.
func (c Config) Validate() error {
	c.Window.Initial = 0
	if _, err := c.withDefaults(); err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// clampInitial moves an initial window into the bounds, where all three are set.
func clampInitial(s *window.Settings) {
	lo, hi := s.Min, s.Max
	if hi == 0 {
		hi = window.MaxWindow
	}
	if s.Initial != 0 {
		s.Initial = min(max(s.Initial, lo), hi)
	}
}
