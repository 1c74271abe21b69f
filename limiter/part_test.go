package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// stays is a law that leaves the window.
type stays struct{}

func (stays) Timed() bool                                                         { return true }
func (stays) Answered(_ time.Duration, s window.State, _ window.End) window.State { return s }

func newStays(window.Settings) window.Law { return stays{} }

func sharedGate(t *testing.T, s limiter.Settings) *limiter.Gate {
	g, err := limiter.NewGate(newStays, s)
	require.NoError(t, err)
	return &g
}

// sends are the times at which attempts go, if operations always wait and each answer takes so long.
func sends(g *limiter.Gate, until, takes time.Duration, at func(now time.Duration)) (all []time.Duration) {
	type flight struct {
		t   window.Ticket
		end time.Duration
	}
	var flying []flight
	for now := time.Duration(0); now < until; now += time.Millisecond {
		at(now)
		for len(flying) > 0 && flying[0].end <= now {
			g.Answered(now, flying[0].t, window.Success, 0)
			flying = flying[1:]
		}
		for t, ok := g.Next(now, 9); ok; t, ok = g.Next(now, 9) {
			all, flying = append(all, now), append(flying, flight{t, now + takes})
		}
	}
	return all
}

func TestATurnIsHadOnce(t *testing.T) {
	const ms = time.Millisecond
	g := sharedGate(t, limiter.Settings{})
	// The share is told each 100 ms, from a clock that counts one turn each 400 ms, the first at 150 ms.
	told := func(now time.Duration) {
		if now%(100*ms) == 0 {
			n := max(0, (now-150*ms+400*ms-1)/(400*ms))
			require.NoError(t, g.Shared(now, window.State{Cwnd: 1, Ssthresh: 1}, limiter.Part{
				In: 150*ms + n*400*ms - now, Every: 400 * ms, Count: float64(n),
			}))
		}
	}
	assert.Equal(t, []time.Duration{150 * ms, 550 * ms, 950 * ms, 1350 * ms}, sends(g, 1500*ms, 50*ms, told))
	at, ok := g.Deadline(1)
	require.True(t, ok)
	require.Equal(t, 1750*ms, at)
}

// The clock goes slower by twenty: the turn that comes by the count is not put off by half of a long time.
func TestATurnOfASlowerClockComes(t *testing.T) {
	const ms = time.Millisecond
	g := sharedGate(t, limiter.Settings{})
	require.NoError(t, g.Shared(0, window.State{Cwnd: 1, Ssthresh: 1}, limiter.Part{In: 10 * ms, Every: 100 * ms, Count: 1}))
	require.Equal(t, []time.Duration{10 * ms, 110 * ms}, sends(g, 200*ms, 10*ms, func(time.Duration) {}))
	require.NoError(t, g.Shared(200*ms, window.State{Cwnd: 1, Ssthresh: 1}, limiter.Part{In: 400 * ms, Every: 2000 * ms, Count: 3}))
	at, ok := g.Deadline(1)
	require.True(t, ok)
	require.Equal(t, 600*ms, at)
	// A clock that was set back, and whose turn is near by the count and by the time, has had it.
	_, ok = g.Next(600*ms, 1)
	require.True(t, ok)
	require.NoError(t, g.Shared(700*ms, window.State{Cwnd: 1, Ssthresh: 1}, limiter.Part{In: 50 * ms, Every: 2000 * ms, Count: 3.2}))
	at, _ = g.Deadline(1)
	require.Equal(t, 2750*ms, at)
}

func TestTheRatesOfAPartTakeThePlaceOfTheSettings(t *testing.T) {
	const ms = time.Millisecond
	g := sharedGate(t, limiter.Settings{MaxRate: 100, MaxAmountRate: 1000})
	state := window.State{Cwnd: 50, Ssthresh: 50}
	require.NoError(t, g.Shared(0, state, limiter.Part{MaxRate: 10}))
	require.Len(t, sends(g, time.Second, ms, func(time.Duration) {}), 10)
	require.NoError(t, g.Shared(time.Second, state, limiter.Part{MaxAmountRate: 20}))
	g.Amount = 4
	require.Equal(t, 50*ms, g.Gap(), "the one that was sent cost 1")
	_, ok := g.Next(2*time.Second, 1)
	require.True(t, ok)
	require.Equal(t, 200*ms, g.Gap())
	require.Equal(t, 14., g.Spent)
	require.NoError(t, g.Shared(2*time.Second, state, limiter.Part{}))
	require.Equal(t, 10*ms, g.Gap())
	require.NoError(t, g.Reconfigured(2*time.Second, newStays, limiter.Settings{MaxRate: 50}))
	require.Equal(t, 20*ms, g.Gap())
	require.Error(t, g.Shared(0, window.State{Cwnd: -1}, limiter.Part{}))
}
