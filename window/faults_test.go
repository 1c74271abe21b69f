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
