package limiter

import (
	"cmp"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// Config returns the settings in force, with defaults filled in.
func (l *Limiter) Config() Config { return *l.config.Load() }

// Reconfigure puts the limiter under new rules, made from those of Config: either all take effect or, with an
// error that names the wrong one, the old rules stay.
//
// Operations that wait and attempts in flight are kept, and cwnd within the new bounds. If a bound or the
// factor changed, a law that keeps state of its own starts with an empty state. A pause for all operations
// ends no later than the new rules allow; an operation that backs off by itself does so to the end. A new
// MaxAttempts also holds for operations under way, a new AttemptTimeout for later attempts.
func (l *Limiter) Reconfigure(r Rules) error {
	c := l.Config()
	c.Rules = r
	// Where a law restarts, within the new bounds; 0: the default.
	if c.InitialWindow = l.initial; c.InitialWindow != 0 {
		c.InitialWindow = min(max(c.InitialWindow, r.MinWindow), cmp.Or(r.MaxWindow, window.MaxWindow))
	}
	settings, err := c.checked()
	if err != nil {
		return err
	}
	// The law is the program's code, so it is not made under the lock.
	law := l.law(settings.Window)
	now := l.now()
	l.mu.Lock()
	before := l.core.State().Cwnd
	err = l.core.Reconfigured(now, func(window.Settings) window.Law { return law }, settings)
	if err == nil {
		l.config.Store(c.inForce(l.core.Rules()))
		l.note(now, Event{Kind: Reconfigured, Before: before})
	}
	l.unlock(now)
	if err != nil {
		return wrong(err)
	}
	return nil
}

// Validate returns the error that Reconfigure would return, or nil.
func (r Rules) Validate() error {
	_, err := (&Config{Rules: r}).checked()
	return err
}

func (c *Config) checked() (core.Settings, error) {
	with, err := c.withDefaults()
	*c = with
	settings, wrongCore := c.core().WithDefaults()
	if err = cmp.Or(err, wrongCore); err != nil {
		return settings, wrong(err)
	}
	return settings, nil
}
