package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/sim"
)

// seed1 is the system of Exponential Backoff in Distributed Systems's figure, after "The Ethernet Approach to Grid
// Computing" (Thain and Livny, HPDC 2003): clients submit one job after the other to
// a queue. A submission has its share of the file descriptors of the machine
// until it is through; there are enough for 400. When they run out, the queue's
// own process crashes with all that it was about to take in, and needs half a
// minute to be up again. It works at ten submissions at a time; more share
// that. "Carrier sense" is to look at the descriptors that are left.
func seed1(n int) sim.Scenario {
	return sim.Scenario{
		Name: "seed1-submit",
		Server: sim.Server{
			Service: sec, Knee: sim.Knee{At: 10},
			Medium:  sim.Medium{Places: 400, Jam: 30 * sec},
			Refusal: sim.Refusal{Time: 10 * ms},
		},
		Clients: sim.Clients{Count: n, Arrivals: "closed"},
		Horizon: 5 * time.Minute,
	}
}

// "As you can see, the fixed approach crashes to zero after about 400 clients,
// whereas the Ethernet approach continues to maintain a high level of
// throughput. It is not as high as the performance under low load, but it is
// relatively stable over a wide range of load."
func TestSeed1Submission(t *testing.T) {
	jobs := func(strategy string, n int) int {
		st := named(t, strategy)
		if strategy == "fixed" {
			st.Retry.Min = sec
		}
		return run(t, seed1(n), st).Done
	}
	for _, n := range []int{10, 50, 100, 200, 300, 390} {
		for _, strategy := range []string{"fixed", "aloha", "ethernet"} {
			assert.Greater(t, jobs(strategy, n), 2500, "%s, %d clients", strategy, n)
		}
	}
	low := jobs("ethernet", 10)
	for _, n := range []int{450, 600, 800, 1000} {
		aloha, ethernet := jobs("aloha", n), jobs("ethernet", n)
		assert.Zero(t, jobs("fixed", n), "%d clients", n)
		assert.InDelta(t, 1100, aloha, 150, "%d clients", n)
		assert.InDelta(t, 2520, ethernet, 100, "%d clients", n)
		assert.Less(t, ethernet, low, "not as high as the performance under low load")
	}
}

// "it is going to extend the time to recovery after a failure by about a
// factor of two ... If the web server is unavailable for thirty seconds and then
// recovers, the client will not notice right away, because it will be in the
// middle of waiting for thirty seconds before trying again. Now, extending a
// thirty second outage to a sixty second outage is unlikely to cause any real
// heartache. But, what about extending a thirty minutes to sixty minutes?"
func TestSeed1RecoveryTakesAboutTwiceAsLong(t *testing.T) {
	for _, outage := range []time.Duration{30 * sec, 30 * time.Minute} {
		s := sim.Scenario{
			Server:  sim.Server{Outages: []sim.Outage{{From: 10 * sec, For: outage}}},
			Clients: sim.Clients{Count: 100, Think: sec},
			Horizon: 3*outage + time.Minute,
		}
		st := named(t, "aloha") // min(R*T*F^N, M), T = 1 s, F = 2, M = 1 h
		r := run(t, s, st)
		assert.True(t, r.Recovery.Over)
		factor := (outage + r.Recovery.For).Seconds() / outage.Seconds()
		assert.InDelta(t, 1.85, factor, 0.2, "%v", outage)
		// "M should be as low as possible to keep your customers happy"
		st.Retry.Max = 5 * sec
		r = run(t, s, st)
		assert.True(t, r.Recovery.Over)
		assert.LessOrEqual(t, r.Recovery.For, 5*sec, "%v", outage)
	}
}
