package retry

import (
	"time"

	"github.com/benbjohnson/clock"
)

// SetClock puts a clock in the place of the real one. Call it before all else.
func (b *Budget) SetClock(source clock.Clock) { b.clock, b.made = source, source.Now() }

// Counts are the requests within the window, and the retries among them.
func (b *Budget) Counts(now time.Duration) (requests, retries int) {
	sum := b.sent.Sum(now)
	return sum.All, sum.Marked
}

func (b *Budget) Floor() int     { return b.config.Floor }
func (b *Budget) Share() float64 { return b.config.Share }
