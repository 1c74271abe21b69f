package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/sim"
)

// A smooth cap of 300 requests a second whose refusals come within a millisecond and say "Retry-After: 1". If
// every client obeys at the second cut in a row, that takes 15 to 18 times the optimum.
func TestRetryAfterOfASmoothRateCap(t *testing.T) {
	capped := func(counted bool) sim.Scenario {
		return sim.Scenario{
			Server: sim.Server{
				Service: 3 * time.Millisecond,
				Refusal: sim.Refusal{Time: time.Millisecond, RetryAfter: time.Second},
				Rate:    sim.Rate{PerSecond: 300, Burst: 20, CountRefused: counted},
			},
			Clients: sim.Clients{Operations: 2000},
		}
	}
	for name, most := range map[string]float64{"reno-0.9": 1.2, "reno-0.5": 1.2, "tahoe-0.5": 1.5} {
		s, ok := sim.StrategyNamed(name)
		require.True(t, ok)
		require.LessOrEqual(t, spanOf(t, capped(false), s), most, name)
		// Rejects counted by the server's rate window (some gateways do): it is slow, and nothing is lost.
		require.LessOrEqual(t, spanOf(t, capped(true), s), 5.0, name)
	}
}

// spanOf is the median over seeds of the makespan over the optimum, of runs that lose nothing.
func spanOf(t *testing.T, s sim.Scenario, strategy sim.Strategy) float64 {
	t.Helper()
	var spans []float64
	for seed := range uint64(5) {
		r, err := sim.Run(s, strategy, seed+1)
		require.NoError(t, err)
		require.Equal(t, "done", r.Ended)
		require.Equal(t, r.Operations, r.Done)
		spans = append(spans, r.Makespan.Seconds()/r.Optimum.Seconds())
	}
	slices.Sort(spans)
	return spans[len(spans)/2]
}

// What a Retry-After adds is not the backoff's own wait, which goes on from there: a
// compound backoff asks again every 10 s for as long as it would itself wait less.
func TestRetryAfterDoesNotFeedTheBackoff(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Failures: sim.Failures{Rate: 1, Overload: true}, Refusal: sim.Refusal{RetryAfter: 10 * time.Second}},
		Clients: sim.Clients{Operations: 1}, Horizon: 60 * time.Second,
	}
	r := run(t, s, sim.Strategy{Retry: sim.Retry{Kind: "compound", Min: 100 * ms, Max: time.Hour, Factor: 2, RetryAfter: true}})
	require.GreaterOrEqual(t, r.Attempts, 5)
}
