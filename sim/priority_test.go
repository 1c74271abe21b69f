package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/sim"
)

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

// "Prioritize interactive requests. Drop background requests" (Safe Client Behaviour).
func TestPrioritisedDropping(t *testing.T) {
	share := func(k struct{ Operations, Done int }) float64 { return float64(k.Done) / float64(k.Operations) }
	alike := run(t, crowded(0), named(t, "none"))
	assert.InDelta(t, 0.66, share(alike.Interactive), 0.02)
	assert.InDelta(t, 0.66, share(alike.Background), 0.02)
	assert.InDelta(t, 0, alike.Interactive.Operations-alike.Background.Operations, 1, "every other one")
	assert.Equal(t, alike.Operations, alike.Interactive.Operations+alike.Background.Operations)
	assert.Equal(t, alike.Done, alike.Interactive.Done+alike.Background.Done)

	kept := run(t, crowded(0.1), named(t, "none"))
	assert.Greater(t, share(kept.Interactive), 0.98)
	assert.InDelta(t, 0.23, share(kept.Background), 0.03)
	all := run(t, crowded(1), named(t, "none"))
	assert.Zero(t, all.Background.Done)
}

// A run without priorities knows nothing of them, and one that has no background work
// loses nothing to a reserve.
func TestWithoutPriorities(t *testing.T) {
	s := crowded(0.5)
	s.Clients.Background = 0
	got := run(t, s, named(t, "none"))
	assert.Zero(t, got.Interactive)
	assert.Zero(t, got.Background)
	assert.False(t, value(t, got, "interactive_done").Applies || value(t, got, "background_done").Applies)
	s.Server.Reserve = 0
	assert.Equal(t, run(t, s, named(t, "none")).Done, got.Done)
}

// What a client gave up is still of the kind that it was, whatever its client does now.
func TestARequestKeepsItsKindAfterItsOperation(t *testing.T) {
	s := crowded(1)
	s.Clients.Background, s.Server.Spread, s.Server.Slots = 0.35, sim.Spread{}, 1000
	s.Server.Connect, s.Clients.Timeout = 100*ms, 50*ms
	// All is over before the run is.
	s.Clients.Arrivals, s.Clients.Rate, s.Horizon = "constant", 0.001, 2*sec
	s.Clients.Burst.Operations = 1000
	got := run(t, s, named(t, "none"))
	require.Equal(t, got.Operations, got.TimedOut)
	require.Greater(t, got.Interactive.Operations, 500)
	require.Equal(t, time.Duration(got.Interactive.Operations)*s.Server.Service, got.Wasted, "all interactive ones are served, and no other")
}
