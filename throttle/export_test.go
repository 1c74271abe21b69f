package throttle

import "github.com/benbjohnson/clock"

// SetClock puts a clock in the place of the real one. Call it before all else.
func (t *Throttle) SetClock(source clock.Clock) { t.clock, t.made = source, source.Now() }
