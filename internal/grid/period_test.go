package grid_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/grid"
)

// "wait(period * random(.5, 1.5)); while true: send_rpc(); wait(period * random(.5, 1.5))"
// ([SafeClients]).
func TestAJitteredPeriodToTheLetter(t *testing.T) {
	now := epoch.Add(77 * time.Second)
	c := newCore(t, now, grid.Settings{JitterPeriod: true, Rand: newRand(1)})
	r := newRand(1)
	for range 1000 {
		now = now.Add(time.Duration((0.5 + r.Float64()) * float64(period)))
		at := run(t, &c, time.Minute)
		assert.InDelta(t, 0, at.Sub(now), 2) // a nanosecond is rounded
		now = at.Add(time.Minute)
	}
	assert.Zero(t, c.Missed(), "a long run puts nothing off")
}

// The waits are between a half and one and a half of the period, whatever a run takes.
func TestAJitteredPeriodKeepsItsDistance(t *testing.T) {
	c := newCore(t, epoch, grid.Settings{JitterPeriod: true, StartWithin: time.Second})
	first := next(t, &c)
	require.Less(t, first.Sub(epoch), time.Second)
	run(t, &c, 10*period)
	wait := next(t, &c).Sub(first.Add(10 * period))
	assert.GreaterOrEqual(t, wait, period/2)
	assert.Less(t, wait, period*3/2)

	// Found late, as after a sleep, it is planned anew, so that many do not come at once; a shorter
	// period counts at once.
	woken := next(t, &c).Add(time.Hour)
	require.False(t, c.Begin(woken))
	assert.GreaterOrEqual(t, next(t, &c).Sub(woken), period/2)
	require.NoError(t, c.SetPeriod(woken, time.Second))
	assert.LessOrEqual(t, next(t, &c).Sub(woken), 1500*time.Millisecond)
}
