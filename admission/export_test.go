package admission

import "github.com/benbjohnson/clock"

// SetClock puts a clock in the place of the real one. Call it before all else.
func (c *Controller) SetClock(source clock.Clock) { c.clock, c.made = source, source.Now() }
