package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

// When the attempts of one operation are made, while all fail at once.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		retry    *backoff.Exponential
		attempts int
		want     []float64 // attempts in each second
	}{
		"none":                     {nil, 0, []float64{1}},
		"constant, three attempts": {&backoff.Exponential{Min: sec, Factor: 1}, 3, []float64{1, 1, 1}},
		"exponential, capped":      {&backoff.Exponential{Min: sec, Max: 2 * sec}, 4, []float64{1, 1, 0, 1, 0, 1}},
		"exponential, by three":    {&backoff.Exponential{Min: sec, Factor: 3}, 3, []float64{1, 1, 0, 0, 1}},
		// [Clojure]: waits of 1 s, 2 s, 4 s and 8 s, and then "it will try one more time".
		"last-try": {named(t, "last-try").Retry, 0, []float64{1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.Scenario{
				Server:  sim.Server{Failures: sim.Failures{Rate: 1}},
				Clients: clients(1, 0), Trace: sec,
			}
			r := run(t, s, sim.Strategy{Retry: c.retry, Attempts: c.attempts})
			assert.Equal(t, c.want, requests(r))
			assert.Equal(t, 1, r.GivenUp)
		})
	}
}

// law counts what it is asked, and never changes anything.
type law struct{ answers map[window.Outcome]int }

func (l law) Answered(_ time.Duration, s window.State, a window.End) window.State {
	l.answers[a.Outcome]++
	return s
}

// A law that is not timed is not asked about each success.
func (law) Timed() bool { return true }

// Any law from outside works through the Law contract.
func TestALawFromElsewhere(t *testing.T) {
	l := law{map[window.Outcome]int{}}
	s := sim.Scenario{Server: sim.Server{Service: sec, Slots: 5}, Clients: clients(60, 0)}
	r := run(t, s, sim.Strategy{Window: sim.Window{Initial: 6, NewLaw: func(window.Settings) window.Law { return l }}})
	assert.Equal(t, 60, r.Done)
	assert.EqualValues(t, 6, value(t, r, "peak_in_flight").Value)
	assert.Equal(t, r.Refused, l.answers[window.Overload])
	assert.Equal(t, r.Done, l.answers[window.Success])
	assert.Positive(t, r.Refused)
}

// "Only 10% of outgoing requests can be retries" (Safe Client Behaviour); the operations that
// get none are given up.
func TestBudget(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Failures: sim.Failures{Rate: 0.5}, Refusal: sim.Refusal{Time: 10 * ms}},
		Clients: sim.Clients{Count: 10, Rate: 100}, Horizon: 100 * sec,
	}
	st := fixed(100 * ms)
	without := run(t, s, st)
	assert.InEpsilon(t, 2, float64(without.Attempts)/float64(without.Operations), 0.05)
	st.Budget, st.Shared = 0.1, true
	with := run(t, s, st)
	assert.LessOrEqual(t, float64(with.Attempts-with.Operations), 0.1*float64(with.Attempts))
	assert.GreaterOrEqual(t, float64(with.Attempts-with.Operations), 0.09*float64(with.Attempts))
	assert.Equal(t, with.GivenUp, with.Rejected)
	// Each on its own has the floor: 3 retries in 10 s, for a client of 100
	// requests in that time no more than its share.
	st.Shared = false
	own := run(t, s, st)
	assert.LessOrEqual(t, float64(own.Attempts-own.Operations), 0.1*float64(own.Attempts))
}

// "Reject new requests locally (at the client) based on rejection probability. Reduces load on the server for
// rejected requests" (Safe Client Behaviour). With K = 2 about twice as many are sent as the service accepts,
// once the two minutes that the throttle looks back upon are full of it.
func TestThrottle(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 10, Refusal: sim.Refusal{Time: 10 * ms}},
		Clients: sim.Clients{Rate: 100}, Horizon: 2000 * sec,
	}
	without := run(t, s, sim.Strategy{})
	assert.InEpsilon(t, 100, value(t, without, "mean_rate").Value, 0.01)
	with := run(t, s, sim.Strategy{Throttle: 2})
	assert.InEpsilon(t, 20, value(t, with, "mean_rate").Value, 0.15)
	assert.InEpsilon(t, without.Done, with.Done, 0.1, "and about as many are served")
	assert.Equal(t, with.Operations, with.Attempts+with.Rejected)
}

// Every ready strategy has a name of its own, by which it is found, and is right.
func TestStrategies(t *testing.T) {
	all := sim.Strategies()
	assert.NoError(t, sim.Scenario{}.Validate(all...))
	for _, want := range all {
		st, ok := sim.StrategyNamed(want.Name)
		assert.True(t, ok)
		assert.Equal(t, want, st)
	}
	_, ok := sim.StrategyNamed("no such")
	assert.False(t, ok)
}

// A smooth cap of 300 requests a second whose refusals come within a millisecond and say "Retry-After: 1". If
// every client obeys at the second cut in a row, that takes 15 to 18 times the optimum.
func TestRetryAfterOfASmoothRateCap(t *testing.T) {
	capped := func(counted bool) sim.Scenario {
		return sim.Scenario{
			Server: sim.Server{
				Service: 3 * time.Millisecond,
				Refusal: sim.Refusal{Time: time.Millisecond, RetryAfter: time.Second},
				Rate:    sim.Rate{PerSecond: 300, Burst: 20, CountRefused: counted},
			},
			Clients: sim.Clients{Operations: 2000},
		}
	}
	for name, most := range map[string]float64{"reno-0.9": 1.2, "reno-0.5": 1.2, "tahoe-0.5": 1.5} {
		s, ok := sim.StrategyNamed(name)
		require.True(t, ok)
		require.LessOrEqual(t, spanOf(t, capped(false), s), most, name)
		// Rejects counted by the server's rate window (some gateways do): it is slow, and nothing is lost.
		require.LessOrEqual(t, spanOf(t, capped(true), s), 5.0, name)
	}
}

// spanOf is the median over seeds of the makespan over the optimum, of runs that lose nothing.
func spanOf(t *testing.T, s sim.Scenario, strategy sim.Strategy) float64 {
	t.Helper()
	var spans []float64
	for seed := range uint64(5) {
		r, err := sim.Run(s, strategy, seed+1)
		require.NoError(t, err)
		require.Equal(t, "done", r.Ended)
		require.Equal(t, r.Operations, r.Done)
		spans = append(spans, r.Makespan.Seconds()/r.Optimum.Seconds())
	}
	slices.Sort(spans)
	return spans[len(spans)/2]
}

// What a Retry-After adds is not the backoff's own wait, which goes on from there: a
// compound backoff asks again every 10 s for as long as it would itself wait less.
func TestRetryAfterDoesNotFeedTheBackoff(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Failures: sim.Failures{Rate: 1, Overload: true}, Refusal: sim.Refusal{RetryAfter: 10 * time.Second}},
		Clients: sim.Clients{Operations: 1}, Horizon: 60 * time.Second,
	}
	r := run(t, s, sim.Strategy{Retry: &backoff.Exponential{Min: 100 * ms, Max: time.Hour, Factor: 2, Compound: true}, RetryAfter: true})
	require.GreaterOrEqual(t, r.Attempts, 5)
}

// published is the system of Improve on exponential backoff: "The connection/request time is 100ms; succesful
// responses are served in 500ms, and error responses in 50ms." The operations are "initially generated at a
// 1000/s rate", and the server "only allows up to max_busy = 50 requests at a time". The connection passes
// before the request holds a slot; a refusal keeps the server busy while it lasts.
func published(operations int) sim.Scenario {
	return sim.Scenario{
		Server: sim.Server{
			Connect: 100 * time.Millisecond, Service: 500 * time.Millisecond, Slots: 50,
			Refusal: sim.Refusal{Time: 50 * time.Millisecond, Busy: true},
		},
		Clients: sim.Clients{Operations: operations, Rate: 1000},
	}
}

// stopped is the system of How not to crash a server: 1000 clients with a request every 10 s each on average,
// which wait 2 s for an answer, and a server that is stopped after 20 s by the signal SIGSTOP, for as
// long as in the text's log, from 22:11:08 to 22:13:06.
//
// While it is stopped the kernel takes in 128 connections, as many as it did by
// default then (SOMAXCONN of Linux before 5.4). What is in there is served when
// the server continues, though nobody waits for it any more.
func stopped() sim.Scenario {
	return sim.Scenario{
		Server: sim.Server{
			Service: 100 * ms, Knee: sim.Knee{At: 30, Factor: 1.05},
			Outages: []sim.Outage{{From: 20 * sec, For: 117 * sec, Kind: "silent", Backlog: 128}},
		},
		Clients: sim.Clients{Count: 1000, Think: 10 * sec, Timeout: 2 * sec},
		Horizon: 7 * time.Minute,
		Trace:   200 * ms,
	}
}

// "The number of simultaneous connections is increasing, the server response delay is increasing, for the
// client this will mean even more timeout situations, even more retries, even more simultaneous requests ...
// our model service has “fallen” and will not rise anymore."
func TestFixedRetryDoesNotComeBack(t *testing.T) {
	r := run(t, stopped(), named(t, "fixed"))
	assert.True(t, value(t, r, "recovery_s").AtLeast, "it never recovers")
	assert.InDelta(t, 98, mean(r, "successes", 5*sec, 20*sec), 5, "the text: 98 to 101 a second")
	// The text, in fives of seconds: 36 OK a second and 22.6 timed out, so it was
	// stopped 3.2 s before the end of the first of them; then 170.6, 298.8, 371.2.
	from := 20*sec - 1800*ms
	for i, want := range []float64{22.6, 170.6, 298.8, 371.2} {
		begin := from + time.Duration(i)*5*sec
		assert.InDelta(t, want, mean(r, "timeouts", begin, begin+5*sec), 25, "%v", begin)
	}
	// "concurrency: 1040, last delay: 2.671444385s", then 1599, 1925, 2231: more than
	// 951, at which the delay is as long as the clients wait, and no end of it.
	concurrency := func(at time.Duration) float64 { return mean(r, "concurrency", at, at+200*ms) }
	assert.InDelta(t, 1040, concurrency(137*sec), 200)
	for _, at := range []time.Duration{138 * sec, 139 * sec, 200 * sec, 400 * sec} {
		assert.InDelta(t, 430, concurrency(at+sec)-concurrency(at), 130, "the text: 559, 326, 306 a second")
	}
	assert.Zero(t, mean(r, "successes", 140*sec, 7*time.Minute))
}

// mean is that of a series from one time to another.
func mean(r sim.Result, series string, from, to time.Duration) float64 {
	all := r.Traces[series][from/r.Interval : to/r.Interval]
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}
