package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A reserve near the whole of a bucket kept it shut when it was full, and the time of the next send moved on: up to 2829
// timers for one send.
func TestAFullBucketIsOpen(t *testing.T) {
	for _, reserve := range []float64{0, .5, .99, 1} {
		c := newClient()
		c.MaxRetryAfter, c.Reserve = 24*time.Hour, reserve
		c.sends(0, 1)
		c.reads(0, bucket(60, 59, sec))
		now, timers := time.Duration(0), 0
		for at := c.Due(now, 0, 1); at > now && timers < 100; at = c.Due(now, 0, 1) {
			now = at
			timers++
		}
		assert.LessOrEqual(t, timers, 2, reserve)
		assert.LessOrEqual(t, now, 2*sec, reserve)
	}
}
