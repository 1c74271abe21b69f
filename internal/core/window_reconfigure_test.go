package core_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// keeps is a law that cuts to the factor it was made with.
func keeps(s window.Settings) window.Law {
	return lawFunc(func(st window.State, a window.Answer) window.State {
		switch {
		case a.Outcome == window.Success:
			st.Cwnd++
		case a.Outcome.Overloaded() && !a.Ignored:
			st.Cwnd *= s.Factor
			st.Ssthresh = st.Cwnd
		}
		return st
	})
}

func newKeeping(t *testing.T, s window.Settings) *trace {
	t.Helper()
	w, err := core.NewWindow(keeps, s)
	require.NoError(t, err)
	return &trace{t, w, 0}
}

// A limit changes without dropping what is in flight, as is asked of
// a limiter that is configured from afar.
func TestReconfiguredKeepsWhatFliesAndItsBurst(t *testing.T) {
	w := newKeeping(t, window.Settings{Initial: 8, Factor: 0.75})
	k := w.send(8)
	require.Equal(t, core.Cut, w.answer(k[0], window.Overload))
	w.wantCwnd(6)

	require.NoError(t, w.Reconfigured(keeps, window.Settings{Max: 3, Factor: 0.5}))
	w.wantCwnd(3)
	require.EqualValues(t, 6, w.State().Ssthresh, "what was learned stays")
	require.Equal(t, 7, w.Flying())
	require.False(t, w.Open())
	require.Equal(t, core.Ignored, w.answer(k[1], window.Overload), "the burst has counted already")
	for _, ticket := range k[2:6] {
		require.False(t, w.Open())
		w.answer(ticket, window.Success)
		w.wantCwnd(3)
	}
	require.True(t, w.Open(), "two are in flight, three may be")
	next := w.Sent(w.now)
	require.EqualValues(t, 9, next.ID(), "ids go on")

	require.Equal(t, core.Cut, w.answer(next, window.Overload))
	w.wantCwnd(1.5) // by the new factor
}

func TestReconfiguredMovesCwndToTheNearestAllowed(t *testing.T) {
	w := newKeeping(t, window.Settings{Initial: 8})
	require.NoError(t, w.Reconfigured(keeps, window.Settings{Min: 12}))
	w.wantCwnd(12)
	w.answer(w.Sent(w.now), window.Overload)
	w.wantCwnd(12)
	w.Restarted()
	w.wantCwnd(12)
	require.NoError(t, w.Reconfigured(keeps, window.Settings{Min: 2, Max: 5}))
	w.wantCwnd(5)
	require.NoError(t, w.Reconfigured(keeps, window.Settings{}))
	w.wantCwnd(5)
	w.Restarted()
	w.wantCwnd(1)
}

func TestReconfiguredRefusesWholly(t *testing.T) {
	w := newKeeping(t, window.Settings{Initial: 8})
	k := w.send(3)
	for _, c := range []struct {
		s    window.Settings
		want string
	}{
		{window.Settings{Min: 5, Max: 4}, "Max: 4 is not allowed, want a number from 5 to 1048576"},
		{window.Settings{Max: 3, Factor: 1}, "Factor: 1 is not allowed, want a number greater than 0 and less than 1"},
		{window.Settings{Max: math.NaN()}, "Max: NaN is not allowed, want a number from 1 to 1048576"},
	} {
		require.EqualError(t, w.Reconfigured(keeps, c.s), c.want)
	}
	timed := func(window.Settings) window.Law { return halving{timed: true} }
	err := w.Reconfigured(timed, window.Settings{Max: 3})
	require.EqualError(t, err, "law: one that needs round-trip times is not allowed, want one that needs none: the window does not measure them")
	require.ErrorAs(t, err, new(*setting.Error))
	w.wantCwnd(8)
	w.answer(k[0], window.Overload)
	w.wantCwnd(4)
}

func TestReconfiguredGoesOnTiming(t *testing.T) {
	w := newTrace(t, halving{timed: true}, window.Settings{Initial: 8})
	k := w.send(1)[0]
	w.now += time.Second
	require.NoError(t, w.Reconfigured(func(window.Settings) window.Law { return halving{timed: true} }, window.Settings{Max: 4}))
	w.answer(k, window.Success)
	require.Equal(t, time.Second, w.RTT())
}
