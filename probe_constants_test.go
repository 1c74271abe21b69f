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
	s.Trace.Off = true
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
	five := func(s *sim.Scenario) { s.Server.Slots = 5; clients(1000)(s) }
	ten := func(s *sim.Scenario) { s.Clients = sim.Clients{Count: 10, Operations: 2000, Rate: 1000} }
	local := sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Spread: sim.Spread{Kind: "uniform", Width: 0.2}, Slots: 8},
		Clients: sim.Clients{Operations: 600, Lateness: ms},
	}
	long := with(store(), func(s *sim.Scenario) { s.Server.Spread = sim.Spread{Kind: "lognormal", Width: 1.1} })
	uplink := sim.Scenario{Server: sim.Server{Service: 600 * ms, Knee: sim.Knee{At: 16}}, Clients: sim.Clients{Operations: 2000, Rate: 1000}}
	thrash := uplink
	thrash.Server.Knee.Slope = 2
	sliding := limit(sim.Rate{PerSecond: 100, Window: time.Second, CountRefused: true}, 20*ms, 1000)
	random := sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Spread: sim.Spread{Kind: "uniform", Width: 0.2}, Slots: 200, Refusal: sim.Refusal{Time: 10 * ms},
			Failures: sim.Failures{Rate: 0.05, Overload: true},
		},
		Clients: sim.Clients{Operations: 40_000},
	}
	fleet := with(store(), func(s *sim.Scenario) {
		s.Clients = sim.Clients{Count: 10, Operations: 20_000, Stagger: 3 * time.Second}
		s.Horizon, s.Watch = 2*time.Minute, sim.Watch{From: time.Minute, For: time.Minute}
	})
	shared := with(limit(sim.Rate{PerSecond: 100, Burst: 20}, 200*ms, 30_000), func(s *sim.Scenario) {
		s.Server.Spread = sim.Spread{Kind: "uniform", Width: 0.2}
		s.Clients.Count, s.Clients.Stagger = 10, time.Second
		s.Horizon, s.Watch = 4*time.Minute, sim.Watch{From: time.Minute, For: 3 * time.Minute}
	})
	single := limit(sim.Rate{PerSecond: 100, Burst: 1}, 200*ms, 2000)
	for _, c := range []struct {
		constant string
		value    float64
		in       string
		s        sim.Scenario
		measure  string
		from, to float64
	}{
		{"growth", 1, "10 clients", with(store(), ten), "attempts_per_op", 1.14, 1.155},
		{"excess", 0, "50, 20, 80 slots", with(store(), change), "span", 1.156, 1.608},
		{"unit", 5, "sliding window", sliding, "span", 1.225, 1.510},
		{"full", 1, "50, 20, 80 slots", with(store(), change), "span", 1.156, 1.199},
		{"slack", 1, "8 slots, late timers", local, "span", 1.053, 1.079},
		{"rate", 1e9, "8 slots, late timers", local, "span", 1.053, 1.134},
		{"grain", 1, "a bucket of burst 1", single, "span", 1.44, 5.448},
		{"grain", 1e-3, "sliding window", sliding, "attempts_per_op", 1.095, 1.131},
		{"longest", 1, "1000 clients on 5 slots", with(store(), five), "attempts_per_op", 8.398, 216.591},
		{"outage", 1e9, "an outage", with(store(), outage), "regain_s", 3, 8.4},
		{"outage", 0, "sliding window", sliding, "span", 1.225, 1.378},
		{"touch", 0, "an outage", with(store(), outage), "regain_s", 3, 15.7},
		{"slow", 1e9, "an uplink", uplink, "peak_in_flight", 48, 80},
		{"long", 1e9, "an uplink", uplink, "first_send_p99_s", 1.798, 2.138},
		{"back", 0.99, "a service that thrashes", thrash, "span", 1.44, 1.632},
		{"age", 1, "a service that thrashes", thrash, "span", 1.44, 1.792},
		{"noise", 0, "5% at random", random, "span", 1.363, 72.7},
		{"noise", 0.2, "10 clients on 100 a second", shared, "watch_jain", 0.985, 0.889},
		{"trial", 1e9, "5% at random", random, "span", 1.363, 72.7},
		{"trial", 5, "10 clients on 50 slots", fleet, "watch_jain", 0.982, 0.843},
		{"run", 1, "long tails", long, "span", 1.238, 1.322},
	} {
		from := figure(t, c.s, aimd.Probe, c.measure)
		to := figure(t, c.s, aimd.ProbeWith(c.constant, c.value), c.measure)
		t.Logf("%s %g, %s: %s %.3f, then %.3f", c.constant, c.value, c.in, c.measure, from, to)
		assert.InEpsilon(t, c.from, from, 0.03, "%s, %s", c.in, c.measure)
		assert.InEpsilon(t, c.to, to, 0.03, "%s %g, %s, %s", c.constant, c.value, c.in, c.measure)
	}
}
