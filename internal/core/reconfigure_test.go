package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

func TestCoreReconfiguredLetsWhoWaitsGo(t *testing.T) {
	c := newCoreTrace(t, aimd.Reno, core.Settings{Window: window.Settings{Initial: 2}, QueueBound: 4})
	c.arrive(1, 6)
	require.Equal(t, []int{1, 2}, c.sent)

	require.NoError(t, c.Reconfigured(c.now, aimd.Reno, core.Settings{Window: window.Settings{Initial: 4, Min: 4}, QueueBound: 1}))
	c.drain()
	require.Equal(t, []int{1, 2, 3, 4}, c.sent)
	require.Equal(t, 2, c.Waiting(), "a lower bound sends nobody away who waits")
	c.arrive(7, 7)
	require.Equal(t, 2, c.Waiting(), "and lets nobody in")

	require.NoError(t, c.Reconfigured(c.now, aimd.Reno, core.Settings{Window: window.Settings{Initial: 2, Max: 2}}))
	require.Equal(t, 4, c.Flying())
	c.answer(1, window.Success, 0)
	c.answer(2, window.Success, 0)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "four flew, two may")
	c.answer(3, window.Success, 0)
	require.Equal(t, []int{1, 2, 3, 4, 5}, c.sent)
}

// A law keeps what it learned when nothing that it is made from has changed.
func TestCoreReconfiguredMakesTheLawAnewForTheWindowAlone(t *testing.T) {
	made := 0
	law := func(s window.Settings) window.Law { made++; return aimd.Reno(s) }
	c := newCoreTrace(t, law, core.Settings{Window: window.Settings{Timed: true}})
	require.NoError(t, c.Reconfigured(c.now, law, core.Settings{Patience: 2, QueueBound: 9}), "whether it is timed cannot change")
	require.Equal(t, 1, made)
	require.Positive(t, c.RetryDelay(3, window.Overload, 0))
	require.NoError(t, c.Reconfigured(c.now, law, core.Settings{Window: window.Settings{Factor: 0.9}}))
	require.Equal(t, 2, made)
	require.Zero(t, c.RetryDelay(3, window.Overload, 0), "patience is back to its default")
}

func TestCoreReconfiguredOpensAGateThatIsShutTooLong(t *testing.T) {
	shut := func(t *testing.T) *coreTrace {
		c := newCoreTrace(t, aimd.Reno, core.Settings{
			Window: window.Settings{Initial: 1}, PauseMax: time.Hour, MaxRetryAfter: time.Hour, Patience: 2,
		})
		c.arrive(1, 2)
		c.refuseAll(0)
		_, held := c.refuseAll(time.Hour)
		require.GreaterOrEqual(t, held, time.Hour)
		return c
	}
	t.Run("the same rules leave it", func(t *testing.T) {
		c := shut(t)
		held := c.PausedUntil()
		require.NoError(t, c.Reconfigured(c.now, aimd.Reno, core.Settings{PauseMax: time.Hour, MaxRetryAfter: time.Hour}))
		require.Equal(t, held, c.PausedUntil())
	})
	t.Run("shorter ones shorten it", func(t *testing.T) {
		c := shut(t)
		require.NoError(t, c.Reconfigured(c.now, aimd.Reno, core.Settings{PauseMax: time.Second, MaxRetryAfter: 10 * time.Second}))
		require.Equal(t, 11*time.Second, c.PausedUntil()-c.now)
		at, ok := c.Core.Deadline()
		require.True(t, ok)
		require.Equal(t, c.PausedUntil(), at)
		c.advance(11 * time.Second)
		require.Equal(t, 1, c.Flying())
	})
	t.Run("no pauses, and Retry-After alone counts", func(t *testing.T) {
		c := shut(t)
		require.NoError(t, c.Reconfigured(c.now, aimd.Reno, core.Settings{PauseMax: -1, MaxRetryAfter: time.Second}))
		require.Equal(t, 1500*time.Millisecond, c.PausedUntil()-c.now)
	})
}
