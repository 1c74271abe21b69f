package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/sim"
)

// blocked is a service that answers in 10 ms and has these blocks, and ten operations at once.
func blocked(b sim.Block) sim.Scenario {
	return sim.Scenario{
		Server:  sim.Server{Service: 10 * ms, Block: b},
		Clients: sim.Clients{Operations: 10},
	}
}

// Five pass, the sixth begins the block, and all that come within 10 s are refused.
func TestABlockRefusesAllForItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		block    sim.Block
		retry    time.Duration
		makespan time.Duration
		refused  int
	}{
		// Five retries at 3, 6 and 9 s are refused; those at 12 s pass.
		"for 10 s":              {sim.Block{For: 10 * sec, Requests: 5}, 3 * sec, 12*sec + 10*ms, 20},
		"for 20 s":              {sim.Block{For: 20 * sec, Requests: 5}, 3 * sec, 21*sec + 10*ms, 35},
		"not so many":           {sim.Block{For: 10 * sec, Requests: 10}, 3 * sec, 10 * ms, 0},
		"it renews, and ends":   {sim.Block{For: 2 * sec, Requests: 5, Renew: true}, 3 * sec, 3*sec + 10*ms, 5},
		"of refusals, and none": {sim.Block{For: sec, Refused: true}, 2 * sec, 10 * ms, 0},
	} {
		r := run(t, blocked(c.block), fixed(c.retry))
		assert.Equal(t, c.makespan, r.Makespan, name)
		assert.Equal(t, c.refused, r.Refused, name)
		assert.Equal(t, 10, r.Done, name)
	}
}

// A client that asks within the time of a ban never gets through.
func TestABanIsRenewedByEachRequest(t *testing.T) {
	s := blocked(sim.Block{For: 2 * sec, Refused: true, Renew: true})
	s.Server.Slots, s.Horizon = 5, time.Minute
	r := run(t, s, fixed(sec))
	assert.Equal(t, 5, r.Done, "those in front of the first refusal")
	assert.Equal(t, "horizon", r.Ended)
	r = run(t, s, fixed(3*sec))
	assert.Equal(t, 10, r.Done)
}

// With a Retry-After all come again when the block ends.
func TestABlockSaysWhenItEnds(t *testing.T) {
	s := blocked(sim.Block{For: 10 * sec, Requests: 5, RetryAfter: true})
	st := fixed(sec)
	st.Retry.RetryAfter = true
	r := run(t, s, st)
	assert.InDelta(t, 10.5, r.Makespan.Seconds(), 0.5, "spread over a tenth")
	assert.Equal(t, 5, r.Refused)
}

// 403 is final, and neutral: the work is lost, and no law cuts.
func TestAForbiddenRequestIsLost(t *testing.T) {
	s := blocked(sim.Block{For: 10 * sec, Requests: 5, Forbidden: true})
	for _, st := range []sim.Strategy{fixed(sec), named(t, "probe"), named(t, "reno-0.9")} {
		r := run(t, s, st)
		assert.Equal(t, 5, r.Done, st.Name)
		assert.Equal(t, 5, r.GivenUp, st.Name)
		assert.Equal(t, 5, r.Failed, st.Name)
		assert.Equal(t, 10, r.Attempts, st.Name)
		assert.Zero(t, r.Refused, st.Name)
	}
}

// The clairvoyant begins no block.
func TestTheOptimumBesideABlock(t *testing.T) {
	s := blocked(sim.Block{For: 10 * sec, Requests: 4})
	assert.Equal(t, 2*sec+10*ms, run(t, s, fixed(sec)).Optimum)
	s.Horizon, s.WatchFrom, s.WatchFor = time.Minute, sec, sec
	load := s.Clients
	s.Clients = sim.Clients{Rate: 4}
	assert.InDelta(t, 1, value(t, run(t, s, fixed(sec)), "watch_use").Value, 1e-9, "four a second begin no block")
	s.Clients = load
	s.Server.Block = sim.Block{For: 10 * sec, Refused: true}
	s.Server.Slots = 5
	assert.Equal(t, 20*ms, run(t, s, fixed(sec)).Optimum)
}

// Refused requests that count take tokens down to minus the burst, or to 0.
func TestTheDebtOfRefusedRequests(t *testing.T) {
	s := blocked(sim.Block{})
	s.Clients = sim.Clients{Operations: 3}
	s.Server.Rate = sim.Rate{PerSecond: 1, Burst: 2, CountRefused: true}
	s.Horizon = time.Minute
	r := run(t, s, fixed(750*ms))
	assert.Equal(t, 2, r.Done, "at -0.25 tokens, 0.25 of the token less each time")
	s.Server.Rate.NoDebt = true
	r = run(t, s, fixed(750*ms))
	assert.Equal(t, 2, r.Done, "0.75 tokens are gone each time")
	assert.Equal(t, sec+10*ms, run(t, s, fixed(sec)).Makespan, "a second after the debt of none")
	s.Server.Rate.NoDebt = false
	assert.Equal(t, 2*sec+10*ms, run(t, s, fixed(2*sec)).Makespan, "one token is owed")
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
