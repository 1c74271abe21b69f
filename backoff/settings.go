package backoff

import (
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

const (
	// defaultMin: "minimum (initial) retry interval (e.g. 100 ms)" ([Crash]).
	defaultMin = 100 * time.Millisecond
	// defaultMax: "unfortunate" operations "maxed out the retry period to 30s" ([Syncmusings]).
	defaultMax = 30 * time.Second
	// defaultFactor: "F doesn't matter much, so choose 2 as a nice round number" ([Ethernet]).
	defaultFactor = 2
	// maxFactor is the largest factor of growth. Our choice.
	maxFactor = 1000
)

func errorOf[T any](_ T, err error) error { return err }

// checks keeps the first error of several settings.
type checks struct{ err error }

// duration puts the fallback instead of a zero, and of a value that is not within lo and hi, which is an
// error that names the setting.
func (c *checks) duration(name string, d *time.Duration, fallback, lo, hi time.Duration) {
	if err := setting.Duration(name, d, fallback, lo, hi); err != nil {
		c.fail(err)
		*d = fallback
	}
}

func (c *checks) number(name string, x *float64, fallback, lo, hi float64) {
	if err := setting.Number(name, x, fallback, lo, hi); err != nil {
		c.fail(err)
		*x = fallback
	}
}

func (c *checks) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// bounds settles a shortest and a longest delay.
func (c *checks) bounds(lo, hi *time.Duration) {
	c.duration("longest delay", hi, max(defaultMax, min(*lo, MaxDelay)), 1, MaxDelay)
	c.duration("shortest delay", lo, min(defaultMin, *hi), 1, *hi)
}
