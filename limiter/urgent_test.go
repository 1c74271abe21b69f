package limiter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// docs/design.md: "A quarter of the attempts in flight is for the others".
func TestAQuarterIsForTheOthers(t *testing.T) {
	for _, c := range []struct {
		others, urgent int
		yields         bool
	}{
		{0, 3, true}, {1, 2, false}, // of four with the next one
		{0, 2, false}, {0, 0, false}, {1, 0, false}, // of fewer than four in turns
		{1, 3, true}, {1, 6, true}, {2, 5, false}, {2, 6, true},
		{15, 48, true}, {16, 47, false}, {16, 48, true}, {17, 46, false},
	} {
		g, err := limiter.NewGate(aimd.Reno(0.5), starting(100))
		require.NoError(t, err)
		send := func(n int, urgent bool) (sent []window.Ticket) {
			g.Urgent = urgent
			for range n {
				k, ok := g.Next(0, 1)
				require.True(t, ok)
				require.Equal(t, urgent, g.IsUrgent(k))
				sent = append(sent, k)
			}
			return sent
		}
		others, urgent := send(c.others, false), send(c.urgent, true)
		require.Equal(t, c.urgent, g.FlyingUrgent())
		require.Equal(t, c.yields, g.Yields(), "%+v", c)
		for _, k := range urgent {
			require.True(t, g.Withdrawn(k))
			require.False(t, g.IsUrgent(k))
		}
		for _, k := range others {
			_, ok := g.Answered(0, k, window.Success, 0)
			require.True(t, ok)
		}
		require.Zero(t, g.FlyingUrgent())
	}
}

// docs/design.md: "of fewer than four they have one turn in four".
func TestATurnInFourOfASmallWindow(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), starting(1))
	require.NoError(t, err)
	var yields []bool
	for range 8 {
		yields = append(yields, g.Yields())
		g.Urgent = !g.Yields()
		k, ok := g.Next(0, 1)
		require.True(t, ok)
		_, ok = g.Answered(0, k, window.ClientError, 0)
		require.True(t, ok)
	}
	require.Equal(t, []bool{false, false, false, true, false, false, false, true}, yields)
}
