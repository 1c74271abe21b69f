package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/sim"
)

// published is the system of Improve on exponential backoff: "The connection/request time is 100ms; succesful
// responses are served in 500ms, and error responses in 50ms." The operations are "initially generated at a
// 1000/s rate", and the server "only allows up to max_busy = 50 requests at a time". The connection passes
// before the request holds a slot; a refusal keeps the server busy while it lasts.
func published(operations int) sim.Scenario {
	return sim.Scenario{
		Name: "published",
		Server: sim.Server{
			Connect: 100 * time.Millisecond, Service: 500 * time.Millisecond, Slots: 50,
			Refusal: sim.Refusal{Time: 50 * time.Millisecond, Busy: true},
		},
		Clients: sim.Clients{Operations: operations, Rate: 1000},
	}
}

// The published figures of "Improve on exponential backoff", and ours; docs/design.md has
// both. The text's second simulation has "at most 100 concurrent requests", and an "optimal
// 20s" that takes 50 of them, as in its first; so there are 50 slots. The windowed runs hold no
// randomness, so they are exact. "All requests complete within 25s, which is
// close to the optimal 20s ... The client performs 2085 request attempts overall".
func TestPublishedFigures(t *testing.T) {
	for _, c := range []struct {
		strategy   string
		operations int
		makespan   float64 // seconds; 0: not asked for
		attempts   int
	}{
		{"reno-0.9", 2000, 25.2, 2085},
		{"reno-0.5", 2000, 30.6, 2032},
		{"tahoe-0.9", 2000, 25.2, 2079},
		{"tahoe-0.5", 2000, 31.2, 2032},
		{"reno-0.9", 100, 0, 100},
		{"reno-0.9", 5000, 0, 5098},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			for _, seed := range []uint64{0, 20} {
				r, err := sim.Run(published(c.operations), named(t, c.strategy), seed)
				require.NoError(t, err)
				assert.Equal(t, "done", r.Ended)
				assert.Equal(t, c.operations, r.Done)
				assert.Equal(t, c.attempts, r.Attempts)
				if c.makespan > 0 {
					assert.InDelta(t, c.makespan, r.Makespan.Seconds(), 0.05)
				}
			}
		})
	}
}

// A refused operation has its turn again at once: the p99 from the first send to success stays
// near the service time, 0.6 s.
func TestOperationsDoNotStarve(t *testing.T) {
	r := run(t, published(2000), named(t, "reno-0.9"))
	assert.LessOrEqual(t, r.SinceSend.P99, 1250*ms)
}

// stopped is the system of How not to crash a server: 1000 clients with a request every 10 s each on average,
// which wait 2 s for an answer, and a server that is stopped after 20 s, "simply by a signal SIGSTOP", for as
// long as in the text's log, from 22:11:08 to 22:13:06.
//
// While it is stopped the kernel takes in 128 connections, as many as it did by
// default then (SOMAXCONN of Linux before 5.4). What is in there is served when
// the server continues, though nobody waits for it any more.
func stopped() sim.Scenario {
	return sim.Scenario{
		Name: "crash-outage",
		Server: sim.Server{
			Service: 100 * ms, Slowdown: sim.Slowdown{Limit: 30},
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
	assert.True(t, r.Recovery.Applies)
	assert.False(t, r.Recovery.Over)
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

// "with exponentially delaying the retry ... the server did not fall and
// successfully rose, the service was restored within a short period of time."
func TestBackoffComesBack(t *testing.T) {
	for _, name := range []string{"backoff-compound", "backoff", "backoff-full", "reno-0.5"} {
		r := run(t, stopped(), named(t, name))
		assert.True(t, r.Recovery.Over, name)
		assert.Less(t, r.Recovery.For, time.Minute, name)
		assert.InDelta(t, 98, mean(r, "successes", 6*time.Minute, 7*time.Minute), 8, name)
		early := mean(r, "timeouts", 25*sec, 40*sec)
		assert.Less(t, mean(r, "timeouts", 120*sec, 135*sec), 0.75*early, "%s: the load decreases over time", name)
	}
}

// mean is that of a series from one time to another.
func mean(r sim.Result, series string, from, to time.Duration) float64 {
	all := r.Traces.Of(series)[from/r.Traces.Interval : to/r.Traces.Interval]
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}
