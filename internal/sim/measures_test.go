package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sim"
)

// What a clairvoyant would take, worked out by hand.
func TestOptimum(t *testing.T) {
	for name, c := range map[string]struct {
		server  sim.Server
		clients sim.Clients
		want    time.Duration
	}{
		"slots: 7 in rounds of 3":    {sim.Server{Service: sec, Slots: 3}, clients(7, 0), 3 * sec},
		"slots: the work comes late": {sim.Server{Service: sec, Slots: 3}, clients(7, sec), 7 * sec},
		// 100 ms to get there; each of the 50 slots begins 1 ms after the one before, and then serves 40.
		"published":      {published(2000).Server, published(2000).Clients, 100*ms + 49*ms + 20*sec},
		"queue":          {sim.Server{Service: sec, Slots: 3, Queue: 2}, clients(7, 0), 3 * sec},
		"rate":           {sim.Server{Rate: sim.Rate{PerSecond: 10, Burst: 5}}, clients(100, 0), 9500 * ms},
		"rate and slots": {sim.Server{Service: sec, Slots: 1, Rate: sim.Rate{PerSecond: 10}}, clients(9, 0), 9 * sec},
		// Two rounds of 2 at 1 s each would do; all four at once take 1.05^(2/15) s.
		"slowdown: mild": {sim.Server{Service: sec, Knee: sim.Knee{At: 2, Factor: 1.05}}, clients(4, 0), 1006526561},
		"slowdown: deep": {sim.Server{Service: sec, Knee: sim.Knee{At: 2, Factor: 100, Scale: 1}}, clients(4, 0), 2 * sec},
		"knee":           {sim.Server{Service: sec, Knee: sim.Knee{At: 2, Slope: 5}}, clients(4, 0), 2 * sec},
		"jam":            {sim.Server{Service: sec, Slots: 2, Jam: sec}, clients(4, 0), 2 * sec},
		"sliding window": {sim.Server{Rate: sim.Rate{PerSecond: 3, Window: 2 * sec}}, clients(50, 200*ms), 16*sec + 200*ms},
		"block":          {sim.Server{Service: 10 * ms, Block: sim.Block{For: 10 * sec, Requests: 4}}, clients(10, 0), 2*sec + 10*ms},
		"ban":            {sim.Server{Service: 10 * ms, Slots: 5, Block: sim.Block{For: 10 * sec, Refused: true}}, clients(10, 0), 20 * ms},
		"quota: window":  {quoted(sim.Quota{Limit: 60, Per: time.Minute}).Server, clients(150, 0), 2*time.Minute + 100*ms},
		"quota: bucket":  {quoted(sim.Quota{Limit: 60, Per: time.Minute, Bucket: true}).Server, clients(150, 0), 90*sec + 100*ms},
		"quota: slices":  {quoted(sim.Quota{Limit: 600, Per: time.Minute, Slice: sec}).Server, clients(150, 0), 14*sec + 100*ms},
		"failures":       {sim.Server{Service: sec, Failures: sim.Failures{Rate: 0.9}}, clients(4, 0), sec},
		"capacity":       {sim.Server{Service: sec, Slots: 1, Capacity: []sim.Change{{At: sec, Slots: 3}}}, clients(4, 0), 2 * sec},
		"outage: errors": {sim.Server{Service: sec, Slots: 1, Outages: []sim.Outage{{From: 500 * ms, For: sec}}}, clients(2, sec), 2500 * ms},
		// The first is interrupted for a second.
		"outage: silence": {sim.Server{Service: sec, Slots: 1, Outages: []sim.Outage{{From: 500 * ms, For: sec, Kind: "silent"}}}, clients(2, sec), 3 * sec},
		"timeouts":        {sim.Server{Service: sec, Slots: 1}, sim.Clients{Operations: 3, Timeout: ms}, 3 * sec},
		"closed":          {sim.Server{Service: sec, Slots: 1}, sim.Clients{Count: 2, Operations: 4, Arrivals: "closed"}, 4 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, sim.Scenario{Server: c.server, Clients: c.clients}, sim.Strategy{})
			assert.InDelta(t, c.want, r.Optimum, 100, "but for rounding")
		})
	}
	assert.Zero(t, run(t, sim.Scenario{Clients: sim.Clients{Rate: 1}}, sim.Strategy{}).Optimum, "there is no end of it")
}

// known is a measure that is known to the end, atLeast one that is not, and absent one that does not apply.
func known(name string, v float64) sim.Measure {
	return sim.Measure{Name: name, Value: v, Applies: true}
}

func atLeast(name string, v float64) sim.Measure {
	return sim.Measure{Name: name, Value: v, AtLeast: true, Applies: true}
}

func absent(name string) sim.Measure { return sim.Measure{Name: name} }

// value is the measure with that name, of which there is one.
func value(t *testing.T, r sim.Result, name string) sim.Measure {
	t.Helper()
	found := slices.DeleteFunc(r.Measures(), func(m sim.Measure) bool { return m.Name != name })
	require.Len(t, found, 1, name)
	return found[0]
}

// Each is worked out by hand.
func TestMeasures(t *testing.T) {
	down := func(from, length time.Duration) []sim.Outage { return []sim.Outage{{From: from, For: length}} }
	three := sim.Scenario{Server: sim.Server{Service: 3 * sec, Slots: 2}, Clients: sim.Clients{Count: 3, Operations: 3}}
	late := published(2000)
	late.Server.Outages, late.Horizon = down(0, time.Hour), 2*time.Hour
	for name, c := range map[string]struct {
		scenario sim.Scenario
		strategy sim.Strategy
		want     []sim.Measure
	}{
		"latencies of three at once, one at a time through a window of one": {
			sim.Scenario{Server: sim.Server{Service: sec}, Clients: clients(3, 0)},
			sim.Strategy{Window: sim.Window{Law: "reno", Initial: 1, Max: 1}},
			[]sim.Measure{known("mean_s", 2), known("p50_s", 2), known("p99_s", 3), known("first_send_p99_s", 1), known("peak_in_flight", 1), known("timed_out", 0)},
		},
		// (1+1)^2 / (3 * 2).
		"clients that get 3 s, 3 s and nothing": {three, sim.Strategy{}, []sim.Measure{known("jain", 2./3), known("given_up", 1)}},
		// Throughputs of 1/3, 1/3 and 1/6.
		"the third is served from 3 s to 6 s": {three, fixed(sec), []sim.Measure{known("jain", (5./6)*(5./6)/(3*(1./9+1./9+1./36)))}},
		// The first second has 90% already, for all that the first answer takes a tenth of it.
		"recovery: at once": {
			sim.Scenario{Server: sim.Server{Service: 100 * ms, Outages: down(20*sec, 10*sec)}, Clients: sim.Clients{Rate: 100}, Horizon: 60 * sec},
			sim.Strategy{}, []sim.Measure{known("recovery_s", 0), known("outage_sent", 1000)},
		},
		// All look every 7 s from 30 s on: at 36 s they find it, and are back.
		"recovery: after a wait": {
			sim.Scenario{Server: sim.Server{Service: sec, Outages: down(20*sec+ms, 9*sec)}, Clients: sim.Clients{Count: 100, Arrivals: "closed"}, Horizon: 60 * sec},
			fixed(7 * sec), []sim.Measure{known("recovery_s", 6.099), absent("makespan_s"), absent("span"), absent("regain_s")},
		},
		"recovery: no capacity that could be used up, and clients who want it all at once": {
			sim.Scenario{Server: sim.Server{Outages: down(0, sec)}, Clients: clients(3, 0)},
			fixed(sec), []sim.Measure{absent("recovery_s"), known("makespan_s", 1)},
		},
		// 10 a second, of which those of 10 s to 20 s are tried again every second: 10, 20 ... 100 in the seconds of
		// the outage, 110 in the next.
		"rates": {
			sim.Scenario{Server: sim.Server{Outages: down(10*sec, 10*sec)}, Clients: sim.Clients{Operations: 400, Rate: 10}},
			fixed(sec), []sim.Measure{
				known("outage_sent", 550), known("mean_rate", 950/39.9), known("peak_rate", 110),
				known("return_over_mean", 110/(950/39.9)), known("peak_over_mean", 110/(950/39.9)), known("throughput", 400/39.9),
			},
		},
		"published": {
			published(2000), named(t, "reno-0.9"), []sim.Measure{
				known("makespan_s", 25.205), known("span", 25.205/20.149), known("attempts_per_op", 2085./2000), known("efficiency", 2000./2085),
				absent("recovery_s"), absent("outage_sent"), absent("watch_use"), absent("interactive_done"), absent("quota_share"),
			},
		},
		"no time at all": {sim.Scenario{}, sim.Strategy{}, []sim.Measure{known("done", 1), absent("throughput"), absent("span"), known("mean_rate", 0)}},
		// Who gives up has done less than all: it would have taken longer.
		"given up": {three, sim.Strategy{}, []sim.Measure{atLeast("makespan_s", 3), atLeast("span", 0.5)}},
		// What has not come to its end at the horizon is no shorter than that.
		"under way": {
			sim.Scenario{Server: sim.Server{Service: sec, Slots: 1}, Clients: clients(10, 0), Horizon: 10500 * ms},
			fixed(7 * sec), []sim.Measure{atLeast("makespan_s", 10.5), atLeast("span", 1.05)},
		},
		"nothing was done": {late, named(t, "none"), []sim.Measure{known("outage_sent", 2000), absent("p50_s"), absent("jain")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.scenario, c.strategy)
			for _, want := range c.want {
				got := value(t, r, want.Name)
				assert.Equal(t, want.Applies, got.Applies, want.Name)
				if want.Applies {
					assert.InDelta(t, want.Value, got.Value, 1e-9, want.Name)
					assert.Equal(t, want.AtLeast, got.AtLeast, want.Name)
				}
			}
		})
	}
}

// The traces say what the measures do.
func TestTraces(t *testing.T) {
	r := run(t, published(2000), named(t, "reno-0.9"))
	n := len(r.Traces["cwnd"])
	assert.Equal(t, 253, n, "25.205 s in tenths")
	total := func(name string) (sum float64) {
		for _, v := range r.Traces[name] {
			sum += v * r.Interval.Seconds()
		}
		return sum
	}
	for name, want := range map[string]int{
		"requests": r.Attempts, "retries": r.Attempts - r.Operations, "successes": r.Done,
		"refusals": r.Refused, "failures": 0, "timeouts": 0,
	} {
		assert.InDelta(t, want, total(name), 1e-6, name)
	}
	assert.Len(t, r.Traces, 9)
	for name, values := range r.Traces {
		assert.Len(t, values, n, name)
	}
	// Without a window there is no cwnd; a long run has longer intervals.
	s := published(2000)
	s.Trace = ms
	r = run(t, s, named(t, "backoff"))
	assert.Nil(t, r.Traces["cwnd"])
	assert.InDelta(t, r.Attempts, total("requests"), 1e-6)
	assert.LessOrEqual(t, len(r.Traces["requests"]), 4096)
	assert.Equal(t, 16*ms, r.Interval)
	s.NoTraces = true
	assert.Empty(t, run(t, s, named(t, "backoff")).Traces)
}

// Two clients take turns, one request each half second; the server takes 2 a second
// and one a second from 4 s on, each for 1 s.
func TestWatch(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 2, Capacity: []sim.Change{{At: 4*sec + ms, Slots: 1}}},
		Clients: sim.Clients{Count: 2, Rate: 2}, Horizon: 10 * sec, WatchFrom: 2*sec + ms, WatchFor: 4 * sec,
	}
	r := run(t, s, sim.Strategy{})
	// Sent at 2.5 to 6. The requests of 1.5 to 3.5 s are done by 4.5, the next one by 5 and the one of 5 s at 6; at
	// 4.5 and 5.5 one is refused.
	assert.Equal(t, known("watch_errors", 2), value(t, r, "watch_errors"))
	assert.Equal(t, known("watch_attempts_per_op", 8./7), value(t, r, "watch_attempts_per_op"))
	// Each is under way for 1 s, so a third is sent before the first is done.
	assert.Equal(t, known("watch_peak_in_flight", 3), value(t, r, "watch_peak_in_flight"))
	// 2 s at 2 a second and 2 s at 1.
	assert.InDelta(t, 7./6, value(t, r, "watch_use").Value, 1e-9)
	// Of the first client those of 2, 3, 4 and 5, of the other those of 1.5, 2.5 and 3.5.
	assert.InDelta(t, 49.0/(2*(16+9)), value(t, r, "watch_jain").Value, 1e-9)

	use := func(from, length time.Duration) sim.Measure {
		s.WatchFrom, s.WatchFor = from, length
		return value(t, run(t, s, sim.Strategy{}), "watch_use")
	}
	assert.False(t, use(0, 0).Applies)
	assert.False(t, use(11*sec, sec).Applies, "the run ended before")
	assert.InDelta(t, 2, use(9*sec, 5*sec).Value, 1e-9, "done at 9 s and 10 s, where the run ends: one of a second's capacity")
	s.Server.Slots, s.Server.Capacity = 0, nil
	assert.False(t, use(9*sec, 5*sec).Applies, "no bound")
	s.Server.Block = sim.Block{For: sec, Requests: 2}
	assert.Equal(t, known("watch_use", 1), use(2*sec, 4*sec), "two a second begin no block")
}

// A hundred clients that each have one request a second under way.
func TestRegain(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 60, Capacity: []sim.Change{{At: 5 * sec, Slots: 20}, {At: 20 * sec, Slots: 100}}},
		Clients: sim.Clients{Count: 100, Arrivals: "closed"}, Horizon: 40 * sec, Regain: 0.8,
	}
	// Of the others 40 ask every 7 s from the start, and from 21 s on there is room for them; 40 more are
	// refused at 5 s, ask at 12, 19 and 26 s and are done at 27: the second from 26.1 s on has them all.
	regain := func() sim.Measure { return value(t, run(t, s, fixed(7*sec)), "regain_s") }
	assert.Equal(t, known("regain_s", 6.1), regain())
	s.Regain = 0.15
	assert.Zero(t, regain().Value, "a fifth of it is there all the time")
	// An outage after the last change.
	s.Regain, s.Server.Outages = 0.8, []sim.Outage{{From: 25 * sec, For: sec}}
	assert.Greater(t, regain().Value, 5.0)
	s.Regain = 0
	assert.False(t, regain().Applies)
}

// Improve on exponential backoff: "the diminished processing load in the client", "each request entails a monetary cost".
func TestWhatAttemptsCost(t *testing.T) {
	s := sim.Scenario{Clients: clients(7, 0), Server: sim.Server{Service: sec, Failures: sim.Failures{First: 1}}}
	assert.False(t, value(t, run(t, s, named(t, "fixed")), "price").Applies, "an attempt has no price")
	s.Clients.CPU, s.Clients.Price = 80*time.Microsecond, 0.5
	r := run(t, s, named(t, "fixed"))
	assert.InDelta(t, 14*80e-6, value(t, r, "cpu_s").Value, 1e-12)
	assert.Equal(t, known("price", 7), value(t, r, "price"))
}
