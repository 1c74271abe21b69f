package aimd_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// A classifier that panics kept the slot of its permit for ever.
func TestAPermitIsReleasedIfTheClassifierPanics(t *testing.T) {
	l, err := aimd.New(aimd.Config{Classifier: func(error) attempt.Verdict { panic("classifier") }})
	require.NoError(t, err)
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	require.PanicsWithValue(t, "classifier", func() { p.End(errors.New("no")) })
	s := l.Snapshot()
	require.Zero(t, s.InFlight)
	require.EqualValues(t, 1, s.Neutrals)
	p.Done(aimd.Success)
	require.EqualValues(t, 1, l.Snapshot().Late)
}

// A State from the future counted as new: after a clock was set back, its age is not known.
func TestAStateOfTheFutureHasNoEffect(t *testing.T) {
	for ahead, want := range map[time.Duration]float64{59 * time.Minute: 7, 61 * time.Minute: 20, 1000 * time.Hour: 20} {
		l, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		require.NoError(t, l.Restore(window.State{Cwnd: 7}, time.Now().Add(ahead)))
		require.InDelta(t, want, l.Snapshot().Cwnd, 0, "%v", ahead)
	}
}

// A panic in the function of Reconfigure changes nothing, and the next call works.
func TestAPanicInReconfigureChangesNothing(t *testing.T) {
	l, err := aimd.New(aimd.Config{})
	require.NoError(t, err)
	before := l.Snapshot().Config
	require.Panics(t, func() {
		_ = l.Reconfigure(func(c *aimd.Config) {
			c.MaxWindow = 3
			panic("no")
		})
	})
	require.Equal(t, before, l.Snapshot().Config)
	require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxWindow = 64 }))
	require.InDelta(t, 64, l.Snapshot().Config.MaxWindow, 0)
}
