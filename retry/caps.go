package retry

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/policy"
	"github.com/aimd-go/aimd/internal/setting"
)

// Caps are settings of a policy that can change while it works. Zero fields leave the policy's own.
type Caps struct {
	// MaxAttempts replaces Config.MaxAttempts, also for operations under way: the most attempts of an
	// operation, from 1, which means no retries; 0 leaves Config.MaxAttempts, negative means no limit.
	MaxAttempts int
	// PauseMax is the longest delay by which an operation backs off by itself from now on: 1 ms or more;
	// 0 leaves the policy's backoff. A longer delay becomes a random one from PauseMax/2 to PauseMax:
	// "Jitter everything!" (Safe Client Behaviour.)
	PauseMax time.Duration
}

// SetCaps changes the caps while the policy works. If it returns an error, which names the wrong setting, the
// old caps stay. A nil policy is shared by all, and cannot be changed.
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
		return setting.Wrong("PauseMax", c.PauseMax, "a duration from 1ms, or 0 for no cap")
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
		MaxRetryAfter: p.c.MaxRetryAfter, Rand: p.c.Rand,
	}
	if caps.MaxAttempts != 0 {
		r.MaxAttempts = caps.MaxAttempts
	}
	return r
}
