package sim_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
)

var update = flag.Bool("update", false, "write testdata/results.txt anew")

// everything is a scenario for each kind of server, client and randomness, and kinds their names.
var kinds = []string{"slots", "rate", "slowdown", "knee", "periodic"}

func everything() []sim.Scenario {
	busy := sim.Refusal{Time: 20 * ms, Busy: true, RetryAfter: 100 * ms, RetryAfterJitter: 50 * ms}
	return []sim.Scenario{
		{
			Server:  sim.Server{Connect: 10 * ms, Service: 100 * ms, Spread: sim.Spread{Kind: "lognormal"}, Slots: 20, Queue: 5, Refusal: busy},
			Clients: sim.Clients{Count: 4, Operations: 800, Arrivals: "poisson", Rate: 300, Timeout: sec},
		}, {
			Server: sim.Server{
				Service: 10 * ms, Spread: sim.Spread{Kind: "exponential"}, Refusal: busy,
				Rate: sim.Rate{PerSecond: 100, Burst: 10},
			},
			Clients: sim.Clients{Operations: 500, Rate: 200},
		}, {
			Server: sim.Server{
				Service: 100 * ms, Knee: sim.Knee{At: 30, Factor: 1.05},
				Outages: []sim.Outage{{From: 2 * sec, For: 3 * sec, Kind: "silent", Backlog: 10}},
			},
			Clients: sim.Clients{Count: 100, Think: sec, Timeout: sec}, Horizon: 10 * sec,
		}, {
			Server: sim.Server{
				Service: 100 * ms, Spread: sim.Spread{Kind: "uniform"}, Knee: sim.Knee{At: 7, Slope: 1.3},
				Slots: 50, Jam: 500 * ms, Failures: sim.Failures{Rate: 0.1},
			},
			Clients: sim.Clients{Count: 60, Arrivals: "closed", Think: 300 * ms}, Horizon: 20 * sec,
		}, {
			Server:  sim.Server{Outages: []sim.Outage{{From: time.Minute, For: time.Minute, RetryAfter: true}}},
			Clients: sim.Clients{Count: 200, Period: 20 * sec}, Horizon: 5 * time.Minute,
		},
	}
}

// The same seed gives the same bytes on every machine: these were recorded on one machine, and are compared
// on all others. A change of a law, a backoff or the simulator may change them: look at what became of the
// figures, then write them anew with -update.
func TestSameSeedSameBytes(t *testing.T) {
	const file = "testdata/results.txt"
	var got strings.Builder
	for i, s := range everything() {
		s.MaxEvents = 50_000
		for _, st := range sim.Strategies() {
			r, err := sim.Run(s, st, 7)
			require.NoError(t, err)
			text, err := json.Marshal([]any{r, r.Measures()})
			require.NoError(t, err)
			again, err := sim.Run(s, st, 7)
			require.NoError(t, err)
			require.Equal(t, r, again)
			fmt.Fprintf(&got, "%s %s attempts=%d %x\n", kinds[i], st.Name, r.Attempts, sha256.Sum256(text))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"))
}

const (
	ms  = time.Millisecond
	sec = time.Second
)

func run(t testing.TB, s sim.Scenario, st sim.Strategy) sim.Result {
	t.Helper()
	r, err := sim.Run(s, st, 1)
	require.NoError(t, err)
	return r
}

func named(t testing.TB, name string) sim.Strategy {
	t.Helper()
	st, ok := sim.StrategyNamed(name)
	require.True(t, ok, name)
	return st
}

// clients are n operations at once, or one each gap.
func clients(n int, gap time.Duration) sim.Clients {
	c := sim.Clients{Operations: n}
	if gap > 0 {
		c.Rate = 1 / gap.Seconds()
	}
	return c
}

// fixed retries after the same time.
func fixed(d time.Duration) sim.Strategy {
	return sim.Strategy{Retry: &backoff.Exponential{Min: max(d, 1), Factor: 1}}
}
