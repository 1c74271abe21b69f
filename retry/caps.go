package retry

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/policy"
	"github.com/aimd-go/aimd/internal/setting"
)

// Caps are what of a policy can be changed while it works: the most attempts, and the
// longest pause. The zero value leaves the policy as it was made.
type Caps struct {
	// MaxAttempts is in the place of Config.MaxAttempts: the most attempts of an
	// operation, the first among them, from 1, which means no retries; 0 leaves
	// Config.MaxAttempts, negative means no limit. It holds for operations under way
	// too.
	MaxAttempts int
	// PauseMax is the longest that an operation backs off by itself, for delays
	// from now on: 1 ms or more; 0: as long as the policy's backoff says. What would
	// be longer is half of it to all of it, at random: "Jitter everything!" (Safe Client Behaviour.)
	PauseMax time.Duration
}

// SetCaps changes the caps while the policy works, or returns an error that
// names what is wrong, its value and what is allowed, and changes nothing. A nil
// policy is everybody's, and has none.
func (p *Policy) SetCaps(c Caps) error {
	if err := c.check(p); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	p.caps.Store(&c)
	return nil
}

func (c Caps) check(p *Policy) error {
	if p == nil {
		return setting.Wrong("caps of the default policy", "a change", "a policy of New")
	}
	if c.PauseMax != 0 && c.PauseMax < time.Millisecond {
		return setting.Wrong("longest pause", c.PauseMax, "a duration from 1ms, or 0 for no cap")
	}
	return nil
}

// Caps are those in force.
func (p *Policy) Caps() Caps {
	if c := p.orDefault().caps.Load(); c != nil {
		return *c
	}
	return Caps{}
}

// rules are those in force. The caller holds mu while it uses them.
func (p *Policy) rules() policy.Rules {
	caps := p.Caps()
	r := policy.Rules{
		MaxAttempts: p.c.MaxAttempts, Backoff: p.c.Backoff, PauseMax: caps.PauseMax,
		RetryAfterMax: p.c.RetryAfterMax, Rand: p.c.Rand,
	}
	if caps.MaxAttempts != 0 {
		r.MaxAttempts = caps.MaxAttempts
	}
	return r
}
