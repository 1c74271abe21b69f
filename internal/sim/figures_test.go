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

// quoted is a service that answers in 100 ms and has these quotas, and clients that ask for more.
func quoted(all ...sim.Quota) sim.Scenario {
	return sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Refusal: sim.Refusal{Time: 20 * ms}, Quotas: all},
		Clients: sim.Clients{Rate: 20}, Horizon: 10 * time.Minute, WatchFrom: 2 * time.Minute, WatchFor: 8 * time.Minute,
	}
}

// deaf is the default law without the reports.
var deaf = sim.Strategy{Name: "deaf", Window: sim.Window{Law: "probe", NoQuota: true}}

// A quota bounds what is served, whoever asks.
func TestAQuotaBoundsWhatIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		quotas []sim.Quota
		most   float64 // of the quotas
	}{
		"window":  {[]sim.Quota{{Limit: 60, Per: time.Minute}}, 1},
		"bucket":  {[]sim.Quota{{Limit: 60, Per: time.Minute, Bucket: true}}, 1.005},
		"slices":  {[]sim.Quota{{Limit: 600, Per: time.Minute, Slice: sec}}, 1},
		"two":     {[]sim.Quota{{Limit: 60, Per: time.Minute}, {Limit: 200, Per: time.Minute, Bucket: true}}, 1},
		"amounts": {[]sim.Quota{{Limit: 6000, Per: time.Minute, Bucket: true, Cost: 100}}, 1.1},
	} {
		r := run(t, quoted(c.quotas...), deaf)
		share := value(t, r, "quota_share").Value
		assert.LessOrEqual(t, share, c.most, name)
		assert.GreaterOrEqual(t, share, 0.9, name)
		assert.Positive(t, r.Refused, name)
	}
}

// leaving is a service of 32 slots that queues, half as many requests again as it takes, and callers who leave.
var leaving = sim.Scenario{
	Server:  sim.Server{Service: 100 * ms, Spread: sim.Spread{Kind: "uniform"}, Slots: 32, Queue: 1_000_000},
	Clients: sim.Clients{Arrivals: "poisson", Rate: 480, Operations: 10_000, Deadline: sec},
	Horizon: 40 * sec, WatchFrom: 5 * sec, WatchFor: 15 * sec,
}

// Who leaves has cost the service its work: without an order that knows deadlines, nobody is served in time.
func TestCallersWhoLeave(t *testing.T) {
	fifo := sim.Strategy{Attempts: 1, Window: sim.Window{Law: "reno", Initial: 32, Min: 32, Max: 32, NoPause: true, FIFO: true}}
	known := fifo
	known.Window.FIFO = false
	for name, c := range map[string]struct {
		sim.Strategy
		least, most float64
	}{"none": {sim.Strategy{}, 0, .05}, "semaphore": {fifo, 0, .05}, "with deadlines": {known, .8, 1}, "probe": {named(t, "probe"), .9, 1}} {
		r := run(t, leaving, c.Strategy)
		use := value(t, r, "watch_use").Value
		assert.True(t, c.least <= use && use <= c.most, "%s: %v", name, use)
		assert.Equal(t, "done", r.Ended, name)
		assert.Equal(t, 10_000, r.Done+r.GivenUp, "%s: each is done, or its caller leaves", name)
		p99 := value(t, r, "watch_p99_s")
		assert.True(t, !p99.Applies || p99.Value <= 1, "%s: %v", name, p99.Value)
	}
}

// A caller leaves wherever its operation is: in the queue, in flight, or between two attempts. A deadline that is long changes
// nothing.
func TestWhereCallersLeave(t *testing.T) {
	s := leaving
	s.Clients.Deadline = time.Hour
	with, without := run(t, s, named(t, "probe")), run(t, func() sim.Scenario { s := s; s.Clients.Deadline = 0; return s }(), named(t, "probe"))
	require.Equal(t, without.Done, with.Done)
	require.InDelta(t, without.Attempts, with.Attempts, 100)

	s = sim.Scenario{Server: sim.Server{Service: sec, Slots: 1, Refusal: sim.Refusal{Time: 10 * ms}}, Clients: sim.Clients{Operations: 20, Deadline: 1500 * ms}}
	for _, name := range []string{"backoff", "probe", "reno-0.9", "none"} {
		r := run(t, s, named(t, name))
		assert.Equal(t, "done", r.Ended, name)
		assert.Equal(t, 20, r.Done+r.GivenUp, name)
		assert.Positive(t, r.Done, name)
		assert.LessOrEqual(t, r.End, 1500*ms, "%s: all have left by then", name)
	}
}
