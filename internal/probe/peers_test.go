package probe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

// One of ten processes that share a service grows at its ceiling by a tenth of a step, so the fleet grows as one window does.
func TestOneOfTenGrowsByATenth(t *testing.T) {
	grown := func(peers int) float64 {
		p := newProbed(t, window.Settings{Peers: peers})
		require.NoError(t, p.Restored(window.State{Cwnd: 20, Ssthresh: 20, Trip: time.Second}))
		p.round(time.Second, 1000)
		return p.State().Cwnd - 20
	}
	require.InDelta(t, 2./3, grown(1), 0.02)
	require.InDelta(t, 2./30, grown(10), 0.01)
}

// One of a fleet that goes on from its share has its part of the refusals that one window may have, and the share is the ceiling.
func TestOneOfTwentyGoesOnFromItsShare(t *testing.T) {
	after := func(peers int) window.State {
		p := newProbed(t, window.Settings{Peers: peers})
		require.NoError(t, p.Restored(window.State{Cwnd: 8, Ssthresh: 8, Trip: time.Second}))
		p.fill()
		p.now += time.Second
		p.answer(1, window.Overload)
		return p.State()
	}
	require.EqualValues(t, 8, after(1).Cwnd, "one refusal shows nothing")
	require.EqualValues(t, 7, after(20).Cwnd)
}
