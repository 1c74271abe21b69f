package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
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

// "An unclear answer is neutral, and a time-out while most of the latest answers are unclear, and the last six."
func TestUnclearAnswers(t *testing.T) {
	const u, s, n = window.Unclear, window.Success, window.Neutral
	repeat := func(times int, of ...window.Outcome) (all []window.Outcome) {
		for range times {
			all = append(all, of...)
		}
		return all
	}
	for name, c := range map[string]struct {
		answers  []window.Outcome
		timeouts int
	}{
		"ten in a row":                    {repeat(10, u), 0},
		"eleven in a row":                 {repeat(11, u), 1},
		"neutral ends do not count":       {append(repeat(10, u, n), u), 1},
		"after a hundred successes":       {append(repeat(100, s), repeat(11, u)...), 1},
		"two in five":                     {repeat(100, u, s, u, s, s), 0},
		"two in three":                    {repeat(100, u, u, s), 0},
		"five in six":                     {repeat(100, u, u, u, u, u, s), 0},
		"six in seven":                    {repeat(100, u, u, u, u, u, u, s), 99},
		"one in a hundred":                {repeat(20, append(repeat(99, s), u)...), 0},
		"an outage ends with successes":   {append(append(repeat(40, u), repeat(13, s)...), repeat(2, u)...), 30},
		"an outage and a few successes":   {append(append(repeat(40, u), repeat(4, s)...), repeat(2, u)...), 30},
		"and the sixth after them":        {append(append(repeat(40, u), repeat(4, s)...), repeat(6, u)...), 31},
		"what is known ends it as well":   {append(append(repeat(40, u), repeat(13, window.Overload)...), u), 30},
		"a request at fault is known too": {append(append(repeat(40, u), repeat(13, window.ClientError)...), u), 30},
	} {
		g, err := limiter.NewGate(aimd.Reno(0.9), limiter.Settings{})
		require.NoError(t, err)
		timeouts := 0
		for i, o := range c.answers {
			now := time.Duration(i) * time.Hour // after any pause
			ticket, ok := g.Tried(now)
			require.True(t, ok)
			a, ok := g.Answered(now, ticket, o, 0)
			require.True(t, ok)
			if a.Outcome == window.Timeout {
				timeouts++
			}
		}
		assert.Equal(t, c.timeouts, timeouts, name)
	}
}

// docs/design.md: "A quarter of the attempts in flight is for the others".
func TestAQuarterIsForTheOthers(t *testing.T) {
	for _, c := range []struct {
		others, urgent int
		yields         bool
	}{
		{0, 3, true}, {1, 2, false}, // of four with the next one
		{0, 2, false}, {0, 0, false}, {1, 0, false}, // of fewer than four in turns
		{1, 3, true}, {1, 6, true}, {2, 5, false}, {2, 6, true},
		{15, 48, true}, {16, 47, false}, {16, 48, true}, {17, 46, false},
	} {
		g, err := limiter.NewGate(aimd.Reno(0.5), starting(100))
		require.NoError(t, err)
		send := func(n int, urgent bool) (sent []window.Ticket) {
			g.Urgent = urgent
			for range n {
				k, ok := g.Next(0, 1)
				require.True(t, ok)
				require.Equal(t, urgent, g.IsUrgent(k))
				sent = append(sent, k)
			}
			return sent
		}
		others, urgent := send(c.others, false), send(c.urgent, true)
		require.Equal(t, c.urgent, g.FlyingUrgent())
		require.Equal(t, c.yields, g.Yields(), "%+v", c)
		for _, k := range urgent {
			require.True(t, g.Withdrawn(k))
			require.False(t, g.IsUrgent(k))
		}
		for _, k := range others {
			_, ok := g.Answered(0, k, window.Success, 0)
			require.True(t, ok)
		}
		require.Zero(t, g.FlyingUrgent())
	}
}

// docs/design.md, rule 12: what is tried again within a slot "is heard as an attempt of its own", urgent as its operation is.
func TestAnAttemptWithinAnUrgentOneIsUrgent(t *testing.T) {
	g := newGate(t)
	for _, urgent := range []bool{false, true} {
		g.Again, g.Urgent = true, urgent
		ticket, ok := g.Tried(0)
		require.True(t, ok)
		require.Equal(t, urgent, g.IsUrgent(ticket))
	}
}

// docs/design.md: "of fewer than four they have one turn in four".
func TestATurnInFourOfASmallWindow(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), starting(1))
	require.NoError(t, err)
	var yields []bool
	for range 8 {
		yields = append(yields, g.Yields())
		g.Urgent = !g.Yields()
		k, ok := g.Next(0, 1)
		require.True(t, ok)
		_, ok = g.Answered(0, k, window.ClientError, 0)
		require.True(t, ok)
	}
	require.Equal(t, []bool{false, false, false, true, false, false, false, true}, yields)
}
