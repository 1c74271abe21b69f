//go:build !race

// The simulator starts no goroutine, and the race detector would make it ten times slower.

package aimd_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/window"
)

// store is 50 slots at 100 ms from the client, and 2000 requests.
func store() sim.Scenario {
	return sim.Scenario{
		Server: sim.Server{
			Connect: 100 * ms, Service: 500 * ms, Slots: 50, Refusal: sim.Refusal{Time: 50 * ms, Busy: true},
			ConnectSpread: sim.Spread{Kind: "uniform", Width: 0.2}, Spread: sim.Spread{Kind: "uniform", Width: 0.2},
		},
		Clients: sim.Clients{Operations: 2000, Rate: 1000},
	}
}

// limit is so many a second, answered in that time.
func limit(r sim.Rate, service time.Duration, operations int) sim.Scenario {
	return sim.Scenario{
		Server:  sim.Server{Service: service, Rate: r, Refusal: sim.Refusal{Time: service / 10}},
		Clients: sim.Clients{Operations: operations},
	}
}

func with(s sim.Scenario, change func(*sim.Scenario)) sim.Scenario { change(&s); return s }

func clients(n int) func(*sim.Scenario) {
	return func(s *sim.Scenario) { s.Clients.Count, s.Horizon = n, 24*time.Hour }
}

// figure is the median of a measure over five runs.
func figure(t *testing.T, s sim.Scenario, law window.NewLaw, measure string) float64 {
	t.Helper()
	var all []float64
	s.NoTraces = true
	for seed := range uint64(5) {
		r, err := sim.Run(s, sim.Strategy{Name: "probe", Window: sim.Window{NewLaw: law}}, seed)
		require.NoError(t, err)
		for _, m := range r.Measures() {
			if m.Name == measure {
				all = append(all, m.Value)
			}
		}
	}
	require.Len(t, all, 5, measure)
	slices.Sort(all)
	return all[2]
}

// What moves when a constant of Probe is moved: from, with Probe as it is, and to, with
// that value.
func TestProbeConstants(t *testing.T) {
	change := func(s *sim.Scenario) {
		s.Clients.Operations, s.Regain = 6000, 0.8
		s.Server.Capacity = []sim.Change{{At: 20 * time.Second, Slots: 20}, {At: 45 * time.Second, Slots: 80}}
	}
	outage := func(s *sim.Scenario) {
		s.Clients.Operations, s.Regain = 12_000, 0.8
		s.Server.Outages = []sim.Outage{{From: 30 * time.Second, For: time.Minute}}
	}
	uplink := sim.Scenario{Server: sim.Server{Service: 600 * ms, Knee: sim.Knee{At: 16}}, Clients: sim.Clients{Operations: 2000, Rate: 1000}}
	thrash := uplink
	thrash.Server.Knee.Slope = 2
	random := sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Spread: sim.Spread{Kind: "uniform", Width: 0.2}, Slots: 200, Refusal: sim.Refusal{Time: 10 * ms},
			Failures: sim.Failures{Rate: 0.05, Overload: true},
		},
		Clients: sim.Clients{Operations: 40_000},
	}
	few := random
	few.Server.Slots, few.Server.Failures.Rate, few.Clients.Operations = 8, 0.25, 2000
	for _, c := range []struct {
		constant string
		value    float64
		in       string
		s        sim.Scenario
		measure  string
		from, to float64
	}{
		{"growth", 0.1, "50, 20, 80 slots", with(store(), change), "span", 1.139, 1.364},
		{"few", 1, "8 slots, a quarter at random", few, "span", 1.983, 2.097},
		{"reach", 2, "5% at random", random, "span", 1.258, 1.384},
		{"touch", 0, "an outage", with(store(), outage), "regain_s", 10.2, 16},
		{"slow", 1e9, "an uplink", uplink, "peak_in_flight", 52, 1010},
		{"age", 1, "a service that thrashes", thrash, "span", 1.663, 1.845},
		{"batch", 1e9, "5% at random", random, "span", 1.258, 16.74},
		{"fall", 1e9, "5% at random", random, "span", 1.258, 108.3},
		{"more", 1, "5% at random", random, "span", 1.258, 16.74},
	} {
		from := figure(t, c.s, aimd.Probe, c.measure)
		to := figure(t, c.s, aimd.ProbeWith(c.constant, c.value), c.measure)
		t.Logf("%s %g, %s: %s %.3f, then %.3f", c.constant, c.value, c.in, c.measure, from, to)
		assert.InEpsilon(t, c.from, from, 0.03, "%s, %s", c.in, c.measure)
		assert.InEpsilon(t, c.to, to, 0.03, "%s %g, %s, %s", c.constant, c.value, c.in, c.measure)
	}
}
