package sim_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

// requests is the number of requests that were sent in each interval.
func requests(r sim.Result) []float64 {
	all := r.Traces["requests"]
	for i := range all {
		all[i] = math.Round(all[i] * r.Interval.Seconds())
	}
	return all
}

// When operations are born, counted by the second. The service takes 1 s for each.
func TestArrivals(t *testing.T) {
	for name, c := range map[string]struct {
		clients sim.Clients
		want    []float64
	}{
		"once":                      {sim.Clients{Operations: 5}, []float64{5}},
		"once: one for each client": {sim.Clients{Count: 7}, []float64{7}},
		"constant":                  {sim.Clients{Operations: 5, Rate: 2}, []float64{2, 2, 1}},
		"constant: without end":     {sim.Clients{Rate: 2}, []float64{2, 2, 2, 2, 2, 1}}, // the last at 5 s
		// Each client's next operation follows at once.
		"closed":                         {sim.Clients{Count: 3, Arrivals: "closed"}, []float64{3, 3, 3, 3, 3, 3}},
		"closed: seven, in turns":        {sim.Clients{Count: 3, Operations: 7, Arrivals: "closed"}, []float64{3, 3, 1}},
		"closed: more clients than work": {sim.Clients{Count: 3, Operations: 2, Arrivals: "closed"}, []float64{2}},
		// After 1 s of service it waits the period.
		"periodic: wait(period)": {sim.Clients{Count: 3, Period: sec, Form: "fixed"}, []float64{3, 0, 3, 0, 3}},
		// The shares of 8 are 3, 3 and 2.
		"once, staggered":   {sim.Clients{Count: 3, Operations: 8, Stagger: 2 * sec}, []float64{3, 0, 3, 0, 2}},
		"closed, staggered": {sim.Clients{Count: 3, Arrivals: "closed", Stagger: sec}, []float64{1, 2, 3, 3, 3, 3}},
		"a burst":           {sim.Clients{Operations: 6, Rate: 2, Burst: 5, BurstAt: sec}, []float64{2, 7, 2}},
		"a burst, later":    {sim.Clients{Operations: 2, Rate: 2, Burst: 5, BurstAt: 3 * sec}, []float64{2, 0, 0, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.Scenario{Server: sim.Server{Service: sec}, Clients: c.clients, Horizon: 5 * sec, Trace: sec}
			got := requests(run(t, s, sim.Strategy{}))
			for len(got) > 0 && got[len(got)-1] == 0 {
				got = got[:len(got)-1]
			}
			assert.Equal(t, c.want, got)
		})
	}
	// All operations of a burst are done, and an optimum has them too.
	r := run(t, sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 1},
		Clients: sim.Clients{Operations: 1, Rate: 2, Burst: 5, BurstAt: 3 * sec},
	}, fixed(sec))
	assert.Equal(t, 6, r.Done)
	assert.Equal(t, 8*sec, r.Optimum)
}

// The number in a second varies as much as its mean.
func TestPoissonArrivals(t *testing.T) {
	s := sim.Scenario{
		Clients: sim.Clients{Arrivals: "poisson", Rate: 100}, Horizon: 1000 * sec, Trace: sec,
	}
	var sum, squares float64
	all := requests(run(t, s, sim.Strategy{}))
	for _, n := range all {
		sum += n
		squares += n * n
	}
	mean := sum / float64(len(all))
	assert.InEpsilon(t, 100, mean, 0.01)
	assert.InEpsilon(t, mean, squares/float64(len(all))-mean*mean, 0.1)
}

// How not to crash a server: "Each client thread executes queries at intervals corresponding to an exponential
// distribution ... with default parameters about 100 requests per second".
func TestClientsWhoThink(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: 100 * ms},
		Clients: sim.Clients{Count: 1000, Think: 10 * sec}, Horizon: 100 * sec,
	}
	r := run(t, s, sim.Strategy{})
	assert.InEpsilon(t, 1000/10.1, value(t, r, "mean_rate").Value, 0.02)
	assert.Less(t, value(t, r, "peak_over_mean").Value, 2.0, "they do not begin together")
}

// Operations take turns over the clients, each of which has a limiter of its own, or all together one.
func TestClientsAreIndependent(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec},
		Clients: sim.Clients{Count: 10, Operations: 1000},
	}
	st := sim.Strategy{Window: sim.Window{Law: "reno", Initial: 7}}
	r := run(t, s, st)
	assert.Equal(t, 1000, r.Done)
	assert.InDelta(t, 1, value(t, r, "jain").Value, 1e-9)
	assert.InDelta(t, 70, r.Traces["cwnd"][0], 1e-9)
	assert.InDelta(t, 70, r.Traces["concurrency"][0], 1e-9)
	st.Shared = true
	r = run(t, s, st)
	assert.Equal(t, 1000, r.Done)
	assert.InDelta(t, 7, r.Traces["cwnd"][0], 1e-9)
	assert.InDelta(t, 7, r.Traces["concurrency"][0], 1e-9)
}

// A client gives up after the timeout; it may do so before the request is even there.
func TestTimeouts(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Connect: 200 * ms, Service: sec},
		Clients: sim.Clients{Operations: 1, Timeout: 100 * ms},
	}
	r := run(t, s, sim.Strategy{})
	assert.Equal(t, 1, r.TimedOut)
	assert.Equal(t, 100*ms, r.End)
	// Its window reacts as to an overload.
	r = run(t, s, sim.Strategy{Window: sim.Window{Law: "reno"}, Retry: &backoff.Exponential{Min: time.Hour, Factor: 1}, Attempts: 1})
	cwnd := r.Traces["cwnd"]
	assert.InDelta(t, 10, cwnd[len(cwnd)-1], 1e-9)
}

// Timers that fire late: those of waits before retries, of timeouts, and of a limiter.
func TestLateness(t *testing.T) {
	s := sim.Scenario{Server: sim.Server{Outages: []sim.Outage{{For: 50 * ms}}}, Clients: clients(1, 0)}
	assert.Equal(t, 100*ms, run(t, s, fixed(100*ms)).Makespan)
	s.Clients.Lateness = 10 * ms
	late := run(t, s, fixed(100*ms))
	assert.Greater(t, late.Makespan, 100*ms)
	assert.LessOrEqual(t, late.Makespan, 110*ms)
	// A timeout is a timer too.
	s.Server, s.Clients.Timeout = sim.Server{Service: sec}, 100*ms
	late = run(t, s, fixed(0))
	assert.Zero(t, late.Done)
	assert.Less(t, late.TimedOut, 36_000)
	assert.Greater(t, late.TimedOut, 33_000, "an hour of 100 to 110 ms each")
}

// paced lets one go each 100 ms.
type paced struct{}

func (paced) Answered(_ time.Duration, s window.State, _ window.End) window.State {
	s.Cwnd, s.Pace = float64(s.Trip)/float64(100*ms), window.Spaced
	return s
}

func (paced) Timed() bool { return true }

// A limiter makes up for a timer that is up to 20 ms late, and for no more: up to 60 ms
// cost 13 ms on average.
func TestLatenessOfGaps(t *testing.T) {
	s := sim.Scenario{Clients: clients(100, 0)}
	st := sim.Strategy{Window: sim.Window{NewLaw: func(window.Settings) window.Law { return paced{} }, Initial: 1, Max: 1}}
	on := run(t, s, st).Makespan
	assert.InDelta(t, 9.9, on.Seconds(), 0.2)
	s.Clients.Lateness = 10 * ms
	assert.InDelta(t, 0, (run(t, s, st).Makespan - on).Seconds(), 0.02)
	s.Clients.Lateness = 60 * ms
	assert.InDelta(t, 99*0.0133, (run(t, s, st).Makespan - on).Seconds(), 0.3)
}

// crowded is a service that is asked for one and a half times what it can do, half of it background work.
func crowded(reserve float64) sim.Scenario {
	return sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Spread: sim.Spread{Kind: "exponential"}, Slots: 100, Reserve: reserve,
			Refusal: sim.Refusal{Time: 5 * ms},
		},
		Clients: sim.Clients{Count: 1000, Arrivals: "poisson", Rate: 1500, Background: 0.5},
		Horizon: 30 * sec,
	}
}

// A run without priorities knows nothing of them, and one that has no background work
// loses nothing to a reserve.
func TestWithoutPriorities(t *testing.T) {
	s := crowded(0.5)
	s.Clients.Background = 0
	got := run(t, s, named(t, "none"))
	assert.False(t, value(t, got, "interactive_done").Applies || value(t, got, "background_done").Applies)
	s.Server.Reserve = 0
	assert.Equal(t, run(t, s, named(t, "none")).Done, got.Done)
	// What scenario drop-background does not ask: no slot is left for background work.
	assert.Zero(t, value(t, run(t, crowded(1), named(t, "none")), "background_done").Value)
}

// What a client gave up is still of the kind that it was, whatever its client does now.
func TestARequestKeepsItsKindAfterItsOperation(t *testing.T) {
	s := crowded(1)
	s.Clients.Background, s.Server.Spread, s.Server.Slots = 0.35, sim.Spread{}, 1000
	s.Server.Connect, s.Clients.Timeout = 100*ms, 50*ms
	// All is over before the run is.
	s.Clients.Arrivals, s.Clients.Rate, s.Horizon = "constant", 0.001, 2*sec
	s.Clients.Burst, s.Trace = 1000, 50*ms
	got := run(t, s, named(t, "none"))
	require.Equal(t, got.Operations, got.TimedOut)
	require.InDelta(t, 650, slices.Max(got.Traces["concurrency"]), 1, "all interactive ones are served, and no other")
}

// Clients that stand still neither send nor read.
func TestClientsStandStill(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: 10 * ms},
		Clients: sim.Clients{Arrivals: "closed", Operations: 200},
	}
	r := run(t, s, sim.Strategy{})
	assert.Equal(t, 2*sec, r.Makespan)
	s.Clients.StopFor, s.Clients.StopEvery = 90*ms, ms
	stopped := run(t, s, sim.Strategy{})
	assert.Equal(t, r.Optimum, stopped.Optimum)
	assert.InDelta(t, 18.2, stopped.Makespan.Seconds(), 0.2, "each answer comes while they stand still")
	s.Clients.StopFor, s.Clients.StopEvery = 100*ms, 100*ms
	assert.InDelta(t, 4, run(t, s, sim.Strategy{}).Makespan.Seconds(), 0.4, "half of the time is left")
	s.Clients.StopFor, s.Clients.StopEvery = 90*ms, ms
	s.Clients.Timeout = 50 * ms
	assert.Zero(t, run(t, s, fixed(ms)).TimedOut, "the answer was there in time")
}
