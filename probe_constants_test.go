//go:build !race

// The simulator starts no goroutine, and the race detector would make it ten times slower.

package aimd_test

import (
	"cmp"
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

func with(s sim.Scenario, change func(*sim.Scenario)) sim.Scenario { change(&s); return s }

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

// What moves when a constant of Probe is half of what it is, or twice: no constant is of no use, and none could
// be another number.
func TestProbeConstants(t *testing.T) {
	change := func(s *sim.Scenario) {
		s.Clients.Operations = 6000
		s.Server.Capacity = []sim.Change{{At: 20 * time.Second, Slots: 20}, {At: 45 * time.Second, Slots: 80}}
	}
	outage := func(s *sim.Scenario) {
		s.Clients.Operations, s.Server.Slots = 2000, 20
		s.Server.Outages = []sim.Outage{{From: 30 * time.Second, For: time.Minute}}
	}
	uplink := sim.Scenario{Server: sim.Server{Service: 600 * ms, Knee: sim.Knee{At: 16}}, Clients: sim.Clients{Operations: 2000, Rate: 1000}}
	thrash := uplink
	thrash.Server.Knee.Slope = 2
	lengths := sim.Scenario{
		Server: sim.Server{
			Service: 110 * ms, Spread: sim.Spread{Kind: "exponential"}, Slots: 100, Refusal: sim.Refusal{Time: 10 * ms},
		},
		Clients: sim.Clients{Operations: 2000},
	}
	random := sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Spread: sim.Spread{Kind: "uniform", Width: 0.2}, Slots: 8, Refusal: sim.Refusal{Time: 10 * ms},
			Failures: sim.Failures{Rate: 0.25, Overload: true},
		},
		Clients: sim.Clients{Operations: 2000},
	}
	for _, c := range []struct {
		constant        string
		is              float64
		in              string
		s               sim.Scenario
		measure         string
		half, as, twice float64 // 0: it is the same
	}{
		{"growth", 2. / 3, "50, 20, 80 slots", with(store(), change), "span", 1.222, 1.137, 1.11},
		{"few", 4, "8 slots, a quarter at random", random, "span", 2.036, 2.153, 2.377},
		{"touch", 1. / 60, "an outage", with(store(), outage), "outage_sent", 51, 57, 65},
		{"slow", 1.3, "answers of different lengths", lengths, "span", 3.136, 1.051, 0},
		{"slow", 1.3, "an uplink", uplink, "peak_in_flight", 0, 80, 223},
		{"age", 60, "a service that thrashes", thrash, "peak_in_flight", 180, 103, 80},
		{"batch", 20, "8 slots, a quarter at random", random, "span", 2.064, 2.153, 3.981},
		{"fall", 2.5, "8 slots, a quarter at random", random, "span", 4.75, 2.153, 4.095},
		{"more", 1.5, "8 slots, a quarter at random", random, "attempts_per_op", 1.337, 1.571, 1.914},
		{"reach", 8, "8 slots, a quarter at random", random, "span", 1.877, 2.153, 10.94},
	} {
		for factor, want := range map[float64]float64{0.5: c.half, 1: c.as, 2: c.twice} {
			got := figure(t, c.s, aimd.ProbeWith(c.constant, c.is*factor), c.measure)
			assert.InEpsilon(t, cmp.Or(want, c.as), got, 0.015, "%s %g, %s, %s", c.constant, c.is*factor, c.in, c.measure)
		}
	}
}
