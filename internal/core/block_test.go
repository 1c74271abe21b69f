package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/core"
)

func newGate(t *testing.T) *core.Gate {
	t.Helper()
	g, err := core.NewGate(aimd.Reno, core.Settings{})
	require.NoError(t, err)
	return &g
}

// denied notes so many 403 after that many successes, and returns the number from which they are of a block.
func denied(g *core.Gate, now time.Duration, successes uint64, n int) (first int) {
	for i := 1; i <= n; i++ {
		if blocked, _ := g.Denied(now, successes); blocked && first == 0 {
			first = i
		}
	}
	return first
}

// A run of five is a block, after a hundred successes.
func TestBlocksAfterSuccesses(t *testing.T) {
	require.Zero(t, denied(newGate(t), 0, 99, 1000), "a client that was hardly ever permitted")
	require.Equal(t, 5, denied(newGate(t), 0, 100, 1000))
	g := newGate(t)
	require.Zero(t, denied(g, 0, 200, 4))
	require.Zero(t, denied(g, 0, 201, 4), "a success in between")
}

// A run twice as long as any that passed by itself is a block. One that a pause ended counts for nothing.
func TestBlocksAreLongerThanOtherRuns(t *testing.T) {
	g := newGate(t)
	require.Zero(t, denied(g, 0, 200, 4))
	require.Equal(t, 8, denied(g, 0, 201, 10))
	require.Equal(t, 8, denied(g, time.Hour, 202, 10))
}

// The pauses of a run are of a minute, two and four. Then 403 is final, for good.
func TestBlocksHaveAnEnd(t *testing.T) {
	g := newGate(t)
	now := time.Duration(0)
	for _, minutes := range []time.Duration{1, 2, 4} {
		denied(g, now, 100, 9)
		pause := g.PausedUntil() - now
		require.GreaterOrEqual(t, pause, minutes*time.Minute)
		require.LessOrEqual(t, pause, minutes*time.Minute+time.Second)
		require.NotZero(t, denied(g, now+pause-1, 100, 9), "during the pause")
		require.Equal(t, now+pause, g.PausedUntil(), "and the pause stays")
		now += pause
	}
	require.Zero(t, denied(g, now, 100, 99))
	require.Zero(t, denied(g, now, 300, 99))
	require.Equal(t, now, g.PausedUntil())
}

// A success begins a new count of pauses.
func TestBlocksOneAfterAnother(t *testing.T) {
	g := newGate(t)
	for n := range 10 {
		now := time.Duration(n) * time.Hour
		require.Equal(t, 5, denied(g, now, uint64(100+n), 9))
		require.LessOrEqual(t, g.PausedUntil()-now, 61*time.Second)
	}
}
