package fleet

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/window"
)

// A Redis that is full evicts the rows of all. The few that reported again had the whole window: of 20 processes on 40
// slots 180 were refused, and half of the slots were used for 10 s.
func TestRowsThatAStoreLost(t *testing.T) {
	l, rows, now := newLeader(), map[string]Row{}, time.Second
	step := func(n int) (m Message) {
		maps.DeleteFunc(rows, func(id string, _ Row) bool { return id >= string(rune('a'+n)) })
		for i := range n {
			rows[string(rune('a'+i))] = row(i, 1)
		}
		now += 40 * time.Millisecond
		m, _ = l.Step(now, now, rows, Message{})
		return m
	}
	most := func(n, of int) {
		m := step(n)
		assert.InDelta(t, 20./float64(of), m.Slots.Most, 1e-6, "%d of %d", n, of)
		assert.Equal(t, of, m.Processes)
	}
	most(9, 9)
	most(6, 6) // a third: they left
	most(3, 6)
	most(5, 6)
	for range 39 { // two leases
		most(5, 6)
	}
	most(5, 5)
	most(2, 5)
	for range 40 {
		most(2, 5)
	}
	most(2, 2)
	most(1, 1) // one may leave
}

// What a law knows is of a store as quick as it was: half as quick or twice, and it begins anew with the window.
func TestALawIsOfAStoreAsQuickAsItWas(t *testing.T) {
	for part, goesOn := range map[float64]bool{0.6: false, 0.7: true, 1.45: true, 1.55: false} {
		l, rows := newLeader(), map[string]Row{"a": row(0, 10)}
		l.Delay = 380 * time.Millisecond
		said, ok := l.Step(time.Second, time.Second, rows, Message{Window: Window{Cwnd: 50, Ssthresh: 40, Trip: time.Second}})
		require.False(t, ok)
		said.Window = Window{Cwnd: 50, Ssthresh: 40, Trip: time.Second}
		_, ok = l.Step(time.Second+160*time.Millisecond, 0, rows, said)
		require.True(t, ok)
		l.Delay = time.Duration(part*float64(500*time.Millisecond)) - 120*time.Millisecond
		_, ok = l.Step(time.Second+200*time.Millisecond, 0, rows, said)
		assert.Equal(t, goesOn, ok, part)
		m, ok := l.Step(time.Second+360*time.Millisecond, 0, rows, said)
		require.True(t, ok)
		assert.InDelta(t, 50, m.Cwnd, 12)
	}
}

// Where sends are not spaced, a refused attempt keeps its place for a round trip.
func TestARefusedAttemptKeepsItsPlace(t *testing.T) {
	for trip, keeps := range map[time.Duration]float64{9 * time.Millisecond: 2, 11 * time.Millisecond: 0} {
		m := NewMember("a", 1)
		l := Follow(&m, probe.New, window.Settings{Max: 1000}).(*Follower)
		m.Report(0, Load{Queued: 99}, time.Second)
		m.Heard(0, Message{
			Window: Window{Cwnd: 10, Ssthresh: 10, Trip: trip}, Processes: 1, At: time.Hour, Slots: Level{Most: 10, Equal: 10},
			Ranks: map[string]int{"a": 0},
		}, time.Second)
		s := m.Share(0, 0, window.State{Trip: trip}).State
		require.Equal(t, 10., s.Cwnd)
		s = l.Answered(time.Millisecond, s, window.End{Outcome: window.Overload})
		s = l.Answered(2*time.Millisecond, s, window.End{Outcome: window.Overload})
		assert.Equal(t, 10-keeps, s.Cwnd, trip)
		assert.Equal(t, 10-keeps, m.Share(3*time.Millisecond, 0, s).State.Cwnd, trip)
		s = l.Answered(trip+time.Millisecond, s, window.End{Outcome: window.Success})
		assert.Equal(t, 10-keeps/2, s.Cwnd, trip)
		s = l.Answered(trip+2*time.Millisecond, s, window.End{Outcome: window.Success})
		assert.Equal(t, 10., s.Cwnd, trip)
	}
}

// A store that died in the first second left who was alone what it had used by then, 3 slots of 64, for a minute, and who was not,
// and had work, for ten. A law of its own goes on if the store was there for less than ten seconds, and up to the fleet's bound for
// slow start if it is alone.
func TestWhoIsAloneOrYoungWaitsForNoStore(t *testing.T) {
	for _, c := range []struct {
		processes int
		since     time.Duration
		load      Load
		mode      Mode
		ssthresh  float64
	}{
		{1, 0, Load{}, Alone, 5000}, {1, time.Hour, Load{MaxRate: 9}, Alone, 5000},
		{2, 9 * time.Second, Load{}, Alone, 2}, {2, 9*time.Second + 1, Load{}, Silent, 2}, {2, 0, Load{MaxWindow: 3}, Alone, 2},
		{2, 0, Load{MaxWindow: 2}, Silent, 2}, {2, 0, Load{MaxWindow: 3, MaxRate: 9}, Silent, 2},
		{2, 0, Load{MaxWindow: 3, MaxAmountRate: 9}, Silent, 2},
	} {
		m := NewMember("a", 1)
		m.Report(0, c.load, time.Second)
		m.Heard(0, Message{}, time.Second)
		m.answered -= c.since
		m.Heard(0, Message{
			Window: Window{Cwnd: 2, Ssthresh: 5000, Trip: time.Second}, Processes: c.processes, At: time.Hour, Slots: Level{Whole: 2, Most: 2, Equal: 2},
			Safe: 1, Ranks: map[string]int{"a": 0},
		}, time.Second)
		require.Equal(t, Shared, m.Share(time.Second-1, 0, window.State{}).Mode)
		s := m.Share(time.Second, 0, window.State{})
		assert.Equal(t, c.mode, s.Mode)
		assert.InDelta(t, c.ssthresh, s.State.Ssthresh, 1)
	}
}

// Who comes back after a split of the net brings what it has in flight once, and no more than it knows.
func TestWhoComesBackBringsItsShare(t *testing.T) {
	back := func(trip float64, rank int, knows float64) float64 {
		l, rows := newLeader(), map[string]Row{"b": {Rank: rank, Flying: 20, Knows: Window{Cwnd: knows}}}
		l.trip, l.state = trip, window.State{Cwnd: 100, Trip: 2 * time.Second} // the half is on the way over the store
		l.sums(rows)
		l.sums(rows)
		return l.state.Cwnd
	}
	assert.Equal(t, 140., back(1, 0, 80))
	assert.Equal(t, 120., back(1, 0, 60))
	assert.Equal(t, 100., back(1, 0, 40))
	assert.Equal(t, 100., back(1, -1, 80), "a newcomer brings nothing")
	assert.Equal(t, 100., back(0, 0, 80), "no answer yet")
}
