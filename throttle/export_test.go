package throttle

import (
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/tag"
)

// SetClock puts a clock in the place of the real one. Call it before all else.
func (t *Throttle) SetClock(source clock.Clock) { t.clock, t.made = source, source.Now() }

// CountsAt is Counts at a time.
func (t *Throttle) CountsAt(now time.Duration, of tag.Criticality) (requests, accepts int, rejection float64) {
	return t.counts(now, t.level(of))
}
