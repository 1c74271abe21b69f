//go:build !race

// The simulator starts no goroutine, and the race detector would make it ten times slower.

package probe_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
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
	few := random
	few.Server.Slots, few.Server.Failures.Rate, few.Clients.Operations = 16, 0.03, 4000
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
	// 20 clients come to 50 slots, one each second, and have work for all of the time.
	company := change
	company.Server.Capacity, company.Clients = nil, sim.Clients{Count: 20, Operations: 300_000, Stagger: time.Second}
	company.WatchFrom, company.WatchFor, company.Horizon = 40*time.Second, 30*time.Second, 70*time.Second
	return map[string]sim.Scenario{
		"change": change, "outage": outage, "uplink": uplink, "ten": ten, "fleet": fleet, "crowd": crowd, "random": random,
		"llm": llm, "few": few, "slowdown": slowdown, "no burst": noBurst, "60 a minute": sixty, "15 a minute": fifteen,
		"up and down": upDown, "silences": silences, "firsts": firsts, "lengths": lengths, "rest": rest, "steady": steady, "spread": spread, "company": company,
	}
}()

// TestProbeConstants: each constant has its rule, and a service that shows it: the figure with half of the constant, as it
// is, with twice of it, and without the rule, which is the constant at its end. A figure here may be better than the law's:
// then the rule pays elsewhere, as TestHarm and the scenarios of docs/laws.md show.
func TestProbeConstants(t *testing.T) {
	for _, c := range []struct {
		constant        string
		is, off         float64 // off: the value without the rule
		in, measure     string
		half, as, twice float64
		without         float64
	}{
		{"few", 2, 0, "crowd", "attempts_per_op", 3.6175, 3.8183, 4.0667, 3.4642},
		{"sample", 20, 1, "random", "span", 6.493, 2.0473, 2.6404, 7.5021},
		{"least", 1. / 20, 0, "few", "span", 1.23, 1.1008, 1.0841, 2.2455},
		{"forget", 1. / 50, 1, "no burst", "span", 1.6239, 1.6239, 1.6239, 23.8728},
		{"fade", 10, 1e9, "company", "watch_jain", 0.9356, 0.9215, 0.221, 0.3563},
		{"fall", 6, 1e9, "random", "span", 1.8449, 2.0473, 8.2223, 8.2303},
		{"more", 1.5, 1e9, "uplink", "watch_peak_in_flight", 42, 28, 71, 2010},
		{"slowest", 10, 0, "random", "span", 2.0473, 2.0473, 7.8596, 2.0473},
		{"growth", 2. / 3, 0.01, "fleet", "span", 1.3067, 1.2149, 1.1524, 1.7768},
		{"same", 0.9, math.Inf(1), "uplink", "watch_peak_in_flight", 18, 28, 73, 53},
		{"silent", 0.3, 0, "60 a minute", "span", 2.264, 2.382, 3.1591, 25.6593},
		{"short", 5, 0, "up and down", "span", 6.6997, 5.1747, 5.1747, 7.5426},
	} {
		var best [5]time.Duration
		for value, want := range map[float64]float64{c.is / 2: c.half, c.is: c.as, 2 * c.is: c.twice, c.off: c.without} {
			got := figure(t, services[c.in], &best, probe.With(c.constant, value), c.measure)
			assert.InEpsilon(t, want, got, 0.001, "%s %g, %s, %s", c.constant, value, c.in, c.measure)
		}
	}
}

// Each rule has a sentence and a row in docs/laws.md: a service, a measure of it, the figure as it is, and without the rule.
// A figure without its rule is worse by a tenth at least, so no rule is without effect.
func TestProbeRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/laws.md")
	require.NoError(t, err)
	numbered := regexp.MustCompile(`(?m)^\d+\. \*([A-Za-z ]+)\.\*`).FindAllStringSubmatch(string(page), -1)
	rows := regexp.MustCompile(`(?m)^\| \*([a-z ]+)\* \| (.*) \| (.*) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(string(page), -1)
	names := probe.Rules()
	require.LessOrEqual(t, len(names), 10)
	require.Len(t, numbered, len(names), "the sentences of docs/laws.md")
	require.Len(t, rows, len(names), "the table of docs/laws.md")
	for i, name := range names {
		require.Equal(t, name, strings.ToLower(numbered[i][1]), "the sentences of docs/laws.md")
		require.Equal(t, name, rows[i][1], "docs/laws.md")
		s, found := services[rows[i][2]]
		require.True(t, found, "%s: service %q", name, rows[i][2])
		measure := rows[i][3]
		var best [5]time.Duration
		as, without := figure(t, s, &best, probe.New, measure), figure(t, s, &best, probe.Without(name), measure)
		worse := without / as
		if measure == "watch_jain" { // more is better
			worse = as / without
		}
		assert.Greater(t, worse, 1.1, name)
		assert.Equal(t, rows[i][4:], []string{fmt.Sprintf("%.4g", as), fmt.Sprintf("%.4g", without)}, name)
	}
}

// One of ten processes that share a service grows at its ceiling by a tenth of a step, so the fleet grows as one window does.
func TestOneOfTenGrowsByATenth(t *testing.T) {
	grown := func(peers int) float64 {
		p := newProbed(t, window.Settings{Peers: peers})
		require.NoError(t, p.Restored(window.State{Cwnd: 20, Ssthresh: 20, Trip: time.Second}))
		p.round(time.Second, 1000)
		return p.State().Cwnd - 20
	}
	require.InDelta(t, 2./3, grown(1), 0.02)
	require.InDelta(t, 2./30, grown(10), 0.01)
}

// One of a fleet that goes on from its share has its part of the refusals that one window may have, and the share is the ceiling.
func TestOneOfTwentyGoesOnFromItsShare(t *testing.T) {
	after := func(peers int) window.State {
		p := newProbed(t, window.Settings{Peers: peers})
		require.NoError(t, p.Restored(window.State{Cwnd: 8, Ssthresh: 8, Trip: time.Second}))
		p.fill()
		p.now += time.Second
		p.answer(1, window.Overload)
		return p.State()
	}
	require.EqualValues(t, 8, after(1).Cwnd, "one refusal shows nothing")
	require.EqualValues(t, 7, after(20).Cwnd)
}

// drawn are twenty services, by the first draw of a fixed seed: slots or a rate, answers of equal or different lengths, a share
// that is refused whatever the load, one client or a few, workers of a pool or all at once.
func drawn() (all []sim.Scenario) {
	r := rand.New(rand.NewPCG(52, 20))
	between := func(least, most int) int { return least + r.IntN(most-least+1) }
	for range 20 {
		var s sim.Scenario
		v, c := &s.Server, &s.Clients
		v.Service = time.Duration(between(10, 500)) * ms
		v.Spread.Kind = []string{"", "uniform", "exponential", "lognormal"}[r.IntN(4)]
		v.Refusal.Time = time.Duration(between(1, 20)) * ms
		if r.IntN(3) == 0 {
			v.Rate = sim.Rate{PerSecond: float64(between(10, 300)), Burst: float64(between(1, 50)), CountRefused: r.IntN(2) == 0}
		} else {
			v.Slots = between(5, 200)
		}
		if r.IntN(2) == 0 {
			v.Failures = sim.Failures{Rate: 0.01 * float64(between(1, 12)), Overload: true}
		}
		c.Operations = 1500
		if r.IntN(2) == 0 {
			c.Arrivals, c.Count = "closed", between(4, 100)
		} else if r.IntN(3) == 0 {
			c.Count = between(2, 10)
		}
		s.NoTraces, s.Horizon = true, 2*time.Hour
		all = append(all, s)
	}
	return all
}

// No service's worst of 31 runs takes more than three times its median, or four times the optimum: five if a limit counts what it
// refuses, and 5.5 for 10% refused of a rate, as docs/laws.md says. All runs end.
func TestTheWorstRunIsBounded(t *testing.T) {
	for i, s := range drawn() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var took []float64
			for seed := range uint64(31) {
				most := 4.
				switch v := s.Server; {
				case v.Rate.CountRefused:
					most = 5
				case v.Rate.PerSecond > 0 && v.Failures.Rate >= 0.1:
					most = 5.5
				}
				st := sim.Strategy{Name: "probe", Shared: s.Clients.Arrivals == "closed", Window: sim.Window{NewLaw: probe.New}}
				s.Optimum = time.Second // a clairvoyant run takes a third of the time
				if seed == 0 {
					s.Optimum = 0
				}
				r, err := sim.Run(s, st, 5200+seed)
				require.NoError(t, err)
				require.Equal(t, "done", r.Ended)
				took = append(took, r.Makespan.Seconds())
				if seed == 0 {
					t.Logf("optimum %v", r.Optimum)
					defer func() {
						assert.LessOrEqual(t, took[30], most*r.Optimum.Seconds(), "worst over the optimum, %+v", s.Server)
					}()
				}
			}
			slices.Sort(took)
			t.Logf("median %.2f, worst %.2f", took[15], took[30])
			assert.LessOrEqual(t, took[30], 3*took[15], "worst over the median, %+v", s.Server)
		})
	}
}
