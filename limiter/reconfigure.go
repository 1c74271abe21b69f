package limiter

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Tuning is what of a Config can be changed while the limiter works. A plain
// value; zero fields mean the documented default of the setting, as in Config.
type Tuning struct {
	// MinWindow and MaxWindow bound the window, in attempts: 1 <= MinWindow <=
	// MaxWindow <= window.MaxWindow; 0 means 1 and window.MaxWindow.
	MinWindow, MaxWindow float64
	// Factor is what a cut keeps of the window: greater than 0, less than 1; 0
	// means window.DefaultFactor.
	Factor float64
	// QueueBound is as in Settings. A lower one sends nobody away who waits.
	QueueBound int
	// PauseMin, PauseMax, Patience and RetryAfterMax are as in Settings. An
	// operation that backs off by itself already does so to the end; a gate that
	// is shut opens no later than these let it.
	PauseMin, PauseMax time.Duration
	Patience           int
	RetryAfterMax      time.Duration
	// MaxAttempts is as in Config: the most attempts for one operation of Do and
	// Each, 0: no limit. It holds for operations under way too: one that made
	// that many or more makes no other.
	MaxAttempts int
	// AttemptTimeout is as in Config, and holds for attempts from now on.
	AttemptTimeout time.Duration
}

// Tuning returns what is in force, with defaults filled in. To change one thing:
//
//	t := l.Tuning()
//	t.MaxWindow = 64
//	err := l.Reconfigure(t)
func (l *Limiter) Tuning() Tuning { return *l.tuning.Load() }

// Reconfigure puts the limiter under new settings while it works, all of them
// or, with an error that names the one that is wrong, none. It drops nothing
// that flies and nobody who waits: a window that got smaller opens once enough
// attempts have ended, one that got larger lets who waits go at once. What was
// learned stays, cwnd as far as the new bounds allow it; a law that keeps state
// of its own begins it anew if a bound or the factor changed.
//
// The initial window, where Tahoe restarts, is the one that the limiter was
// made with, or the nearest that the bounds allow.
func (l *Limiter) Reconfigure(t Tuning) error {
	c, err := t.config(l.config)
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	// Code of others, so not under the lock.
	law := l.law(c.Window)
	now := l.config.Clock.Now()
	l.lock()
	before := l.core.State().Cwnd
	err = l.core.Reconfigured(now, func(window.Settings) window.Law { return law }, c.Settings)
	if err == nil {
		l.tuning.Store(tuningOf(c))
		l.published.state(l.core.State())
		l.note(Event{Kind: Reconfigured, Before: before})
	}
	l.unlock(now)
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// Validate returns the error that Reconfigure would return, nil if there is none.
func (t Tuning) Validate() error {
	if _, err := t.config(Config{}); err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// config is c with what t says, and with defaults.
func (t Tuning) config(c Config) (Config, error) {
	c.Window.Min, c.Window.Max, c.Window.Factor = t.MinWindow, t.MaxWindow, t.Factor
	if c.Window.Initial != 0 {
		lo, hi := t.MinWindow, t.MaxWindow
		if hi == 0 {
			hi = window.MaxWindow
		}
		c.Window.Initial = min(max(c.Window.Initial, lo), hi)
	}
	c.QueueBound, c.Patience = t.QueueBound, t.Patience
	c.PauseMin, c.PauseMax, c.RetryAfterMax = t.PauseMin, t.PauseMax, t.RetryAfterMax
	c.MaxAttempts, c.AttemptTimeout = t.MaxAttempts, t.AttemptTimeout
	c, err := c.withDefaults()
	if err != nil {
		return c, err
	}
	c.Settings, err = c.Settings.withDefaults()
	return c, err
}

// tuningOf is the part of a Config, with its defaults, that can be changed.
func tuningOf(c Config) *Tuning {
	return &Tuning{
		MinWindow: c.Window.Min, MaxWindow: c.Window.Max, Factor: c.Window.Factor,
		QueueBound: c.QueueBound, PauseMin: c.PauseMin, PauseMax: c.PauseMax,
		Patience: c.Patience, RetryAfterMax: c.RetryAfterMax,
		MaxAttempts: c.MaxAttempts, AttemptTimeout: c.AttemptTimeout,
	}
}

// exhausted reports whether an operation that made so many attempts may make
// no other. More than the limit: it was lowered meanwhile.
func (l *Limiter) exhausted(attempts int) bool {
	most := l.tuning.Load().MaxAttempts
	return most > 0 && attempts >= most
}
