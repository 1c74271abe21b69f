package retry

import "github.com/benbjohnson/clock"

// SetClock puts a clock in the place of the real one. Call it before all else.
func (b *Budget) SetClock(source clock.Clock) { b.clock, b.made = source, source.Now() }
