//go:build !race

// The simulator starts no goroutine, and the race detector would make it ten times slower.

package aimd_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/window"
)

// figure is the median of a measure over five runs. best are the optima of the runs, which no law changes.
func figure(t *testing.T, s sim.Scenario, best *[5]time.Duration, law window.NewLaw, measure string) float64 {
	t.Helper()
	var all []float64
	s.NoTraces, s.Horizon = true, time.Hour
	for seed := range uint64(5) {
		s.Optimum = best[seed]
		r, err := sim.Run(s, sim.Strategy{Name: "probe", Window: sim.Window{NewLaw: law}}, seed)
		require.NoError(t, err)
		best[seed] = r.Optimum
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

// Each constant of Probe has its rule, and a service that shows it: the figure with half of the constant, as it is, with
// twice of it, and without the rule, which is the constant at its end. A figure here may be better than the law's: then
// the rule pays elsewhere, as TestHarm and the scenarios of docs/laws.md show.
func TestProbeRules(t *testing.T) {
	// 50 slots at 100 ms from the client, then 20, then 80.
	change := sim.Scenario{
		Server: sim.Server{
			Connect: 100 * ms, Service: 500 * ms, Slots: 50, Refusal: sim.Refusal{Time: 50 * ms, Busy: true},
			ConnectSpread: sim.Spread{Kind: "uniform", Width: 0.2}, Spread: sim.Spread{Kind: "uniform", Width: 0.2},
			Capacity: []sim.Change{{At: 20 * time.Second, Slots: 20}, {At: 45 * time.Second, Slots: 80}},
		},
		Clients: sim.Clients{Operations: 6000, Rate: 1000},
	}
	outage := change
	outage.Clients.Operations, outage.Server.Slots, outage.Server.Capacity = 2000, 20, nil
	outage.Server.Outages = []sim.Outage{{From: 30 * time.Second, For: time.Minute}}
	uplink := sim.Scenario{
		Server:  sim.Server{Service: 600 * ms, Knee: sim.Knee{At: 16}},
		Clients: sim.Clients{Operations: 4000, Rate: 1000}, WatchFrom: time.Minute, WatchFor: time.Hour,
	}
	ten := sim.Scenario{
		Server:  sim.Server{Service: 110 * ms, Spread: sim.Spread{Kind: "exponential"}, Slots: 10, Refusal: sim.Refusal{Time: 10 * ms}},
		Clients: sim.Clients{Operations: 600},
	}
	fleet := ten
	fleet.Server.Slots, fleet.Clients = 30, sim.Clients{Operations: 1800, Count: 10}
	crowd := ten
	crowd.Server.Slots, crowd.Clients = 12, sim.Clients{Operations: 1200, Count: 60}
	random := sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Spread: sim.Spread{Kind: "uniform", Width: 0.2}, Slots: 8, Refusal: sim.Refusal{Time: 10 * ms},
			Failures: sim.Failures{Rate: 0.25, Overload: true},
		},
		Clients: sim.Clients{Operations: 1000},
	}
	for _, c := range []struct {
		rule, constant  string
		is, off         float64 // off: the value without the rule
		in              string
		s               sim.Scenario
		measure         string
		half, as, twice float64
		without         float64
	}{
		{"growth at the ceiling", "growth", 2. / 3, 0.01, "50, 20, 80 slots", change, "span", 1.2024, 1.1475, 1.109, 2.3966},
		{"a few refusals are chance", "few", 4, 0.01, "10 clients, 30 slots", fleet, "span", 1.32, 1.2078, 1.1666, 1.4347},
		{"a floor in an outage", "touch", 1. / 60, 1, "an outage", outage, "outage_sent", 51, 57, 65, 67},
		{"a sample before a verdict", "batch", 20, 5, "8 slots, a quarter refused", random, "span", 3.1633, 2.8466, 5.2408, 2.7164},
		{"a cut must pay", "fall", 2.5, 1e9, "8 slots, a quarter refused", random, "span", 4.1296, 2.8466, 6.0754, 21.5},
		{"clearly more", "more", 1.5, 1e9, "an uplink", uplink, "watch_peak_in_flight", 39, 27, 53, 2010},
		{"a trial", "reach", 8, 1, "8 slots, a quarter refused", random, "span", 1.8709, 2.8466, 8.8677, 1.7986},
		{"early attempts are tried again", "learn", 0.02, 0, "10 slots", ten, "span", 1.128, 1.0994, 1.0392, 1.1639},
		{"no hold at a slow rate", "slowest", 3, 0, "60 clients, 12 slots", crowd, "attempts_per_op", 3.3233, 3.2325, 3.2016, 3.3691},
		{"growth must pay", "stays", 0.9, math.Inf(1), "an uplink", uplink, "watch_peak_in_flight", 30, 27, 44, 41},
		{"looks are rare", "every", 30, 0, "an uplink", uplink, "span", 1.0474, 1.0263, 1.0129, 1.2043},
	} {
		var best [5]time.Duration
		for value, want := range map[float64]float64{c.is / 2: c.half, c.is: c.as, 2 * c.is: c.twice, c.off: c.without} {
			got := figure(t, c.s, &best, aimd.ProbeWith(c.constant, value), c.measure)
			assert.InEpsilon(t, want, got, 0.005, "%s: %s %g, %s, %s", c.rule, c.constant, value, c.in, c.measure)
		}
	}
}
