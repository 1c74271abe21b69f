package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/sim"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// run plays a scenario that is right.
func run(t testing.TB, s sim.Scenario, st sim.Strategy) sim.Result {
	t.Helper()
	if st.Name == "" {
		st.Name = "test"
	}
	r, err := sim.Run(s, st, 1)
	require.NoError(t, err)
	return r
}

// named is a ready strategy.
func named(t testing.TB, name string) sim.Strategy {
	t.Helper()
	st, ok := sim.StrategyNamed(name)
	require.True(t, ok, name)
	return st
}

// once is so many operations at once, or one more each gap.
func clients(n int, gap time.Duration) sim.Clients {
	c := sim.Clients{Operations: n}
	if gap > 0 {
		c.Rate = 1 / gap.Seconds()
	}
	return c
}

// fixed retries after the same time.
func fixed(d time.Duration) sim.Strategy {
	return sim.Strategy{Retry: sim.Retry{Kind: "constant", Min: d}}
}
