package retry

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

// Caps are what of a policy can be changed while it works: how often, and how
// long at the most. The zero value leaves the policy as it was made.
type Caps struct {
	// Attempts is in the place of Config.Attempts: the most attempts of an
	// operation, the first among them, from 1, which means no retries; 0 leaves
	// Config.Attempts, negative means no limit. It holds for operations under way
	// too.
	Attempts int
	// MaxDelay is the longest that an operation backs off by itself, for delays
	// from now on: 1 ms or more; 0: as long as the policy's backoff says. What would
	// be longer is half of it to all of it, at random: "Jitter everything!" (Seed 3.)
	MaxDelay time.Duration
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
	if c.MaxDelay != 0 && c.MaxDelay < time.Millisecond {
		return setting.Wrong("longest delay", c.MaxDelay, "a duration from 1ms, or 0 for no cap")
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

// exhausted reports whether an operation that made so many attempts may make
// no other. More than the limit: it was lowered meanwhile.
func (p *Policy) exhausted(attempts int) bool {
	most := p.c.Attempts
	if c := p.Caps().Attempts; c != 0 {
		most = c
	}
	return most > 0 && attempts >= most
}

// capped is the delay, no longer than the cap. The caller holds mu.
func (p *Policy) capped(delay time.Duration) time.Duration {
	most := p.Caps().MaxDelay
	if most == 0 || delay <= most {
		return delay
	}
	return most - time.Duration(p.c.Rand.Float64()*float64(most/2))
}
