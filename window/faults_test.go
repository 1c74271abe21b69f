package window_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

// Restored took any Trip, even one of 292 years. A window that measures keeps the same bound: its own state can be
// restored.
func TestATripHasABound(t *testing.T) {
	keep := lawFunc(func(s window.State, _ window.End) window.State { return s })
	w := newTrace(t, timed{keep}, window.Settings{})
	require.ErrorContains(t, w.Restored(window.State{Cwnd: 1, Ssthresh: 1, Trip: math.MaxInt64}), "want a duration from 0s to 24h0m0s")
	require.Zero(t, w.State().Trip)
	w.Answered(48*time.Hour, w.Sent(0), window.Success, 0)
	require.Equal(t, 24*time.Hour, w.State().Trip)
	require.NoError(t, w.Restored(w.State()))
}

// Under a law that needs no times nobody knew the round trip, and callers with deadlines waited for answers that came too late.
// Attempts that were sent before Measure have no time.
func TestALawWithoutTimesIsMeasuredOnDemand(t *testing.T) {
	w, err := window.New(func(window.Settings) window.Law {
		return lawFunc(func(s window.State, _ window.End) window.State { return s })
	}, window.Settings{})
	require.NoError(t, err)
	early := w.Sent(0)
	w.Measure()
	require.True(t, w.Measured())
	late := w.Sent(time.Second)
	w.Measure()
	_, _ = w.Answered(5*time.Second, early, window.Success, 0)
	require.Zero(t, w.State().Trip)
	_, _ = w.Answered(5*time.Second, late, window.Success, 0)
	require.Equal(t, 4*time.Second, w.State().Trip)
}
