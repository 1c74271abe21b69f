package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/sim"
)

// Two clients take turns, one request each half second; the server takes 2 a second
// and one a second from 4 s on, each for 1 s.
func TestWatch(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 2, Capacity: []sim.Change{{At: 4*sec + ms, Slots: 1}}},
		Clients: sim.Clients{Count: 2, Rate: 2}, Horizon: 10 * sec, Watch: sim.Watch{From: 2*sec + ms, For: 4 * sec},
	}
	r := run(t, s, sim.Strategy{})
	// Sent at 2.5 to 6; those of 1.5 to 3.5 s are done by 4.5, that of 4 by 5, the one
	// of 4.5 is refused, that of 5 is done at 6, and that of 5.5 is refused.
	assert.True(t, r.Watched.Applies)
	assert.Equal(t, 8, r.Watched.Attempts)
	assert.Equal(t, 2, r.Watched.Errors)
	assert.Equal(t, 7, r.Watched.Done)
	// 2 s at 2 a second and 2 s at 1.
	assert.InDelta(t, 6, r.Watched.Capacity, 1e-9)
	// Of the first client those of 2, 3, 4 and 5, of the other those of 1.5, 2.5 and 3.5.
	assert.InDelta(t, 49.0/(2*(16+9)), r.Watched.Jain, 1e-9)

	assert.Equal(t, sim.Watched{}, run(t, sim.Scenario{Server: s.Server, Clients: s.Clients}, sim.Strategy{}).Watched)
	s.Watch = sim.Watch{From: 11 * sec, For: sec}
	assert.Equal(t, sim.Watched{}, run(t, s, sim.Strategy{}).Watched, "the run ended before")
	s.Watch = sim.Watch{From: 9 * sec, For: 5 * sec}
	assert.InDelta(t, 1, run(t, s, sim.Strategy{}).Watched.Capacity, 1e-9, "as long as the run lasts")
	s.Server.Slots, s.Server.Capacity = 0, nil
	assert.Zero(t, run(t, s, sim.Strategy{}).Watched.Capacity, "no bound")
}

// A hundred clients that each have one request a second under way.
func TestRegain(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 60, Capacity: []sim.Change{{At: 5 * sec, Slots: 20}, {At: 20 * sec, Slots: 100}}},
		Clients: sim.Clients{Count: 100, Arrivals: "closed"}, Horizon: 40 * sec, Regain: 0.8,
	}
	// Of the others 40 ask every 7 s from the start, and from 21 s on there is room for them; 40 more are
	// refused at 5 s, ask at 12, 19 and 26 s and are done at 27: the second from 26.1 s on has them all.
	r := run(t, s, fixed(7*sec))
	assert.Equal(t, sim.Spell{For: 6100 * ms, Over: true, Applies: true}, r.Regain)
	s.Regain = 0.15
	assert.Zero(t, run(t, s, fixed(7*sec)).Regain.For, "a fifth of it is there all the time")
	// An outage after the last change.
	s.Regain, s.Server.Outages = 0.8, []sim.Outage{{From: 25 * sec, For: sec}}
	assert.Greater(t, run(t, s, fixed(7*sec)).Regain.For, 5*sec)
	s.Regain = 0
	assert.Equal(t, sim.Spell{}, run(t, s, fixed(7*sec)).Regain)
}
