//go:build !race

// The simulator starts no goroutine, and the race detector would make it ten times slower.

package aimd_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

// figure is the median of a measure over five runs. Workers of a pool have one limiter. best are the optima of the runs,
// which no law changes.
func figure(t *testing.T, s sim.Scenario, best *[5]time.Duration, law window.NewLaw, measure string) float64 {
	t.Helper()
	var all []float64
	s.NoTraces, s.Horizon = true, cmp.Or(s.Horizon, time.Hour)
	for seed := range uint64(5) {
		s.Optimum = best[seed]
		st := sim.Strategy{Name: "probe", Shared: s.Clients.Arrivals == "closed", Window: sim.Window{NewLaw: law}}
		r, err := sim.Run(s, st, seed)
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

// services are those that show a rule or a constant.
var services = func() map[string]sim.Scenario {
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
	llm := sim.Scenario{
		Server: sim.Server{
			Service: 11 * time.Second, Spread: sim.Spread{Kind: "uniform", Width: 0.82}, Slots: 200,
			Refusal: sim.Refusal{Time: 100 * ms}, Failures: sim.Failures{Rate: 0.02, Overload: true},
		},
		Clients: sim.Clients{Operations: 1000},
	}
	slowdown := sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Knee: sim.Knee{At: 30, Factor: 2, Scale: 20}},
		Clients: sim.Clients{Operations: 3000, Rate: 1000, Timeout: 500 * ms}, MaxEvents: 250_000,
	}
	noBurst := sim.Scenario{
		Server:  sim.Server{Service: time.Second, Rate: sim.Rate{PerSecond: 100, Burst: 1}, Refusal: sim.Refusal{Time: 100 * ms}},
		Clients: sim.Clients{Operations: 2000},
	}
	sixty := sim.Scenario{
		Server:  sim.Server{Service: 300 * ms, Rate: sim.Rate{PerSecond: 1, Burst: 60, CountRefused: true}, Refusal: sim.Refusal{Time: 2 * ms}},
		Clients: sim.Clients{Operations: 200},
	}
	fifteen := sim.Scenario{
		Server: sim.Server{
			Service: 50 * ms, Rate: sim.Rate{PerSecond: 0.25, Burst: 20, CountRefused: true, NoDebt: true},
			Refusal: sim.Refusal{Time: 5 * ms},
		},
		Clients: sim.Clients{Count: 8, Arrivals: "closed", Operations: 100},
	}
	upDown := sim.Scenario{
		Server: sim.Server{
			Service: 50 * ms, Slots: 20, Refusal: sim.Refusal{Time: 5 * ms},
			Failures: sim.Failures{Rate: 1, Overload: true, From: time.Second, For: time.Second, Period: 2 * time.Second},
		},
		Clients: sim.Clients{Count: 64, Arrivals: "closed", Operations: 3000},
	}
	silences := sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Slots: 20, Refusal: sim.Refusal{Time: 10 * ms},
			Failures: sim.Failures{Rate: 1, Lost: true, From: 2 * time.Second, For: 4 * time.Second, Period: 6 * time.Second},
		},
		Clients: sim.Clients{Count: 64, Arrivals: "closed", Operations: 3000, Timeout: time.Second},
	}
	firsts := sim.Scenario{
		Server: sim.Server{
			Service: 20 * ms, Slots: 20, Refusal: sim.Refusal{Time: 5 * ms}, Failures: sim.Failures{First: 2, Overload: true},
		},
		Clients: sim.Clients{Count: 8, Arrivals: "closed", Operations: 1500},
	}
	lengths := sim.Scenario{
		Server: sim.Server{
			Service: 10 * ms, Spread: sim.Spread{Kind: "lognormal", Width: 1.6}, Slots: 11, Refusal: sim.Refusal{Time: 5 * ms},
			Failures: sim.Failures{Rate: 0.09, Overload: true},
		},
		Clients: sim.Clients{Count: 146, Arrivals: "closed", Operations: 7856},
	}
	rest := sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Slots: 32, Refusal: sim.Refusal{Time: 10 * ms}},
		Clients: sim.Clients{Operations: 120, Rate: 2, Burst: 1000, BurstAt: time.Minute},
	}
	// A bucket of burst 100 whose connections take now 80 and now 120%.
	spread := sim.Scenario{
		Server: sim.Server{
			Connect: 10 * ms, Service: 10 * ms, ConnectSpread: sim.Spread{Kind: "uniform", Width: 0.2},
			Rate: sim.Rate{PerSecond: 100, Burst: 100}, Refusal: sim.Refusal{Time: 2 * ms},
		},
		Clients: sim.Clients{Operations: 1000},
	}
	steady := change
	steady.Server.Slots, steady.Server.Capacity, steady.Server.Spread = 20, nil, sim.Spread{}
	steady.Clients = sim.Clients{Count: 10, Operations: 10_000, Stagger: 20 * ms}
	steady.WatchFrom, steady.WatchFor, steady.Horizon = time.Minute, time.Minute, 2*time.Minute
	return map[string]sim.Scenario{
		"change": change, "outage": outage, "uplink": uplink, "ten": ten, "fleet": fleet, "crowd": crowd, "random": random,
		"llm": llm, "slowdown": slowdown, "no burst": noBurst, "60 a minute": sixty, "15 a minute": fifteen,
		"up and down": upDown, "silences": silences, "firsts": firsts, "lengths": lengths, "rest": rest, "steady": steady, "spread": spread,
	}
}()

// TestProbeConstants: each constant of Probe has its rule, and a service that shows it: the figure with half of the constant, as it is, with
// twice of it, and without the rule, which is the constant at its end. A figure here may be better than the law's: then
// the rule pays elsewhere, as TestHarm and the scenarios of docs/laws.md show.
func TestProbeConstants(t *testing.T) {
	for _, c := range []struct {
		rule, constant  string
		is, off         float64 // off: the value without the rule
		in              string
		s               sim.Scenario
		measure         string
		half, as, twice float64
		without         float64
	}{
		{"growth at the ceiling", "growth", 2. / 3, 0.01, "50, 20, 80 slots", services["change"], "span", 1.2025, 1.1476, 1.1091, 2.3967},
		{"a few refusals are chance", "few", 4, 0.01, "10 clients, 30 slots", services["fleet"], "span", 1.2672, 1.1516, 1.2319, 1.3718},
		{"a floor in an outage", "touch", 1. / 60, 1, "an outage", services["outage"], "outage_sent", 51, 57, 65, 67},
		{"a sample before a verdict", "batch", 20, 5, "8 slots, a quarter refused", services["random"], "span", 3.6885, 3.8332, 4.5267, 6.5075},
		{"a cut must pay", "fall", 2.5, 1e9, "8 slots, a quarter refused", services["random"], "span", 4.1034, 3.8332, 6.2087, 18.919},
		{"clearly more", "more", 1.5, 1e9, "an uplink", services["uplink"], "watch_peak_in_flight", 39, 30, 57, 2010},
		{"a trial", "reach", 8, 1, "8 slots, a quarter refused", services["random"], "span", 2.1766, 3.8332, 9.5764, 1.7615},
		{"early attempts are tried again", "learn", 0.02, 0, "10 slots", services["ten"], "span", 1.128, 1.0995, 1.0392, 1.164},
		{"no hold at a slow rate", "slowest", 3, 0, "60 clients, 12 slots", services["crowd"], "attempts_per_op", 3.2642, 3.16, 3.1492, 3.3267},
		{"growth must pay", "stays", 0.9, math.Inf(1), "answers of many lengths", services["lengths"], "span", 1.4086, 1.3679, 1.681, 2.0007},
		{"looks are rare", "every", 30, 0, "an uplink", services["uplink"], "span", 1.0536, 1.025, 1.0127, 1.2445},
		{"a share more at a few a minute", "minute", 45, 1e9, "15 a minute", services["15 a minute"], "attempts_per_op", 1.33, 1.41, 5.41, 5.41},
	} {
		var best [5]time.Duration
		for value, want := range map[float64]float64{c.is / 2: c.half, c.is: c.as, 2 * c.is: c.twice, c.off: c.without} {
			got := figure(t, c.s, &best, aimd.ProbeWith(c.constant, value), c.measure)
			assert.InEpsilon(t, want, got, 0.005, "%s: %s %g, %s, %s", c.rule, c.constant, value, c.in, c.measure)
		}
	}
}

// Each rule of Probe has a row in docs/laws.md: a service, a measure of it, the figure as it is, and without the rule. The
// comment of Probe, its rules here and the page have the same rules in the same order. A figure without its rule is worse
// by a tenth at least, so no rule is without effect.
func TestProbeRules(t *testing.T) {
	page, err := os.ReadFile("docs/laws.md")
	require.NoError(t, err)
	source, err := os.ReadFile("probe.go")
	require.NoError(t, err)
	numbered := regexp.MustCompile(`(?m)^//\s+\d+\. ([a-z ]+):`).FindAllStringSubmatch(string(source), -1)
	rows := regexp.MustCompile(`(?m)^\| \*([a-z ]+)\* \| .* \| (.*) \| (.*) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(string(page), -1)
	names := aimd.ProbeRules()
	require.LessOrEqual(t, len(names), 25)
	require.Len(t, numbered, len(names), "the comment of Probe")
	require.Len(t, rows, len(names), "docs/laws.md")
	for i, name := range names {
		require.Equal(t, name, numbered[i][1], "the comment of Probe")
		require.Equal(t, name, rows[i][1], "docs/laws.md")
		s, found := services[rows[i][2]]
		require.True(t, found, "%s: service %q", name, rows[i][2])
		measure := rows[i][3]
		var best [5]time.Duration
		as, without := figure(t, s, &best, aimd.Probe, measure), figure(t, s, &best, aimd.ProbeWithout(name), measure)
		worse := without / as
		if measure == "watch_jain" { // more is better
			worse = as / without
		}
		assert.Greater(t, worse, 1.1, name)
		assert.Equal(t, rows[i][4:], []string{fmt.Sprintf("%.4g", as), fmt.Sprintf("%.4g", without)}, name)
	}
}
