package fleet

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/window"
)

func wants(all ...float64) map[string]Row {
	rows := map[string]Row{}
	for i, w := range all {
		rows[fmt.Sprint(i)] = Row{Weight: 1, Flying: w}
	}
	return rows
}

func TestTheLevelIsMaxMin(t *testing.T) {
	for _, c := range []struct {
		rows        map[string]Row
		most, equal float64
	}{
		{wants(100, 100, 100, 100), 25, 25},
		{wants(10, 10, 100, 100), 40, 25},
		{wants(10, 30, 100, 100), 30, 25},
		{wants(1, 2, 3), 100. / 3, 100. / 3},
		{wants(1, 2, 60), 60, 100. / 3},
		{wants(1, 2, 300), 97, 100. / 3},
	} {
		l := level(100, c.rows, Row.slots)
		assert.InDelta(t, c.most, l.Most, 1e-9, "%v", c)
		assert.InDelta(t, c.equal, l.Equal, 1e-9, "%v", c)
	}
	heavy := map[string]Row{"a": {Weight: 4, Queued: 900}, "b": {Weight: 1, Queued: 900}}
	require.Equal(t, Level{Whole: 100, Most: 20, Equal: 20}, level(100, heavy, Row.slots))
}

func TestAPartIsWhatAProcessWantsWithinTheLevel(t *testing.T) {
	l := Level{Most: 40, Equal: 10}
	assert.Equal(t, 40., l.part(1, demand{30, 90}))
	assert.Equal(t, 35., l.part(1, demand{20, 35}), "and no more")
	assert.Equal(t, 37.5, l.part(1, demand{30, 30}), "a quarter more than it uses")
	assert.Equal(t, 10., l.part(1, demand{1, 1}), "an equal part, for when it wakes")
	assert.Equal(t, 20., l.part(2, demand{1, 1}))
	assert.InDelta(t, 31.8, l.sure(1, demand{30, 30}), 1e-9, "a twentieth more, while nobody hears of it")
	assert.InDelta(t, 0.3, l.sure(1, demand{0, 0}), 1e-9, "a little of an equal part, so that it is not stuck")
	assert.Equal(t, 40., l.sure(1, demand{39, 39}))
	assert.InDelta(t, 15, Row{Rate: 2, Amount: 10, Queued: 1}.amount().wants, 1e-9, "what waits costs as much as what was sent")
}

func TestTheNumbersOfAFleet(t *testing.T) {
	assert.Equal(t, 100*time.Millisecond, Interval(1))
	assert.Equal(t, 100*time.Millisecond, Interval(100))
	assert.Equal(t, time.Second, Interval(1000))
	assert.Equal(t, 40*time.Millisecond, Tick(100*time.Millisecond))
	assert.Equal(t, 800*time.Millisecond, Lease(100*time.Millisecond))
	assert.Equal(t, 4*time.Second, Lease(time.Second))
}

// At any time the whole attempts of all are the window, and over ten seconds each has its share.
func TestWholeAttemptsAreTheWindow(t *testing.T) {
	const n, share = 10, 3.7
	mean := [n]float64{}
	for at := time.Duration(0); at < rotation; at += rotation / 100 {
		sum := 0.
		for rank := range n {
			w := whole(share, rank, n, at)
			sum += w
			mean[rank] += w / 100
		}
		assert.InDelta(t, n*share, sum, 1.01)
	}
	for _, m := range mean {
		assert.InDelta(t, share, m, 0.02)
	}
}

func newLeader() *Leader {
	return &Leader{ID: "a", Law: probe.New, Max: window.MaxWindow, Delay: 10 * time.Millisecond}
}

func row(rank int, flying float64) Row { return Row{Weight: 1, Rank: rank, Flying: flying, Queued: 90} }

// Of any ranks in a row, as of a third that has more weight or is killed, the turns are apart. They were at one end of
// the turn, and 100 processes of which 33 have a weight of 4 used .75 of 100 slots, for .91.
func TestTurnsOfRanksInARowAreApart(t *testing.T) {
	for n := 1; n <= 200; n++ {
		for _, some := range []int{n, (n + 2) / 3} {
			parts := []float64{}
			for rank := range some {
				parts = append(parts, phase(n-some+rank, n))
			}
			slices.Sort(parts)
			widest := 1 - parts[some-1] + parts[0]
			for i := 1; i < some; i++ {
				widest = max(widest, parts[i]-parts[i-1])
			}
			if some == n {
				require.InDelta(t, 1/float64(n), widest, 1e-9, n)
			}
			require.Less(t, widest*float64(some), 5., "%d of %d", some, n)
		}
	}
}

// One that comes has no share before the others have heard of it, and their attempts have made room.
func TestANewcomerWaitsForRoom(t *testing.T) {
	l := newLeader()
	rows := map[string]Row{"a": row(-1, 0)}
	now := time.Duration(0)
	step := func(d time.Duration) Message {
		now += d
		m, ok := l.Step(now, now, rows, Message{})
		require.True(t, ok)
		return m
	}
	require.Equal(t, map[string]int{"a": 0}, step(0).Ranks, "alone, it has all")
	rows["a"] = row(0, 20)
	r := rows["a"]
	r.Accepted, r.Trips = 20, 20*200*time.Millisecond
	rows["a"] = r
	require.Empty(t, step(50*time.Millisecond).Ranks, "it knows its rank")
	rows["b"] = row(-1, 0)
	m := step(50 * time.Millisecond)
	require.Empty(t, m.Ranks)
	require.InDelta(t, m.Cwnd/2, m.Slots.Most, 0.01, "the other is told at once")
	require.Empty(t, step(50*time.Millisecond).Ranks)
	require.Empty(t, step(100*time.Millisecond).Ranks, "the other has heard of it, but there is no room")
	r.Flying = 9
	rows["a"] = r
	require.Equal(t, map[string]int{"b": 1}, step(50*time.Millisecond).Ranks)
	delete(rows, "a")
	rows["b"] = row(1, 9)
	require.Equal(t, map[string]int{"b": 0}, step(50*time.Millisecond).Ranks, "ranks have no gaps")
}

// A leader that follows another one, or comes back, takes the window over when all can have reported.
func TestALeaderTakesTheWindowOver(t *testing.T) {
	said := Message{Window: Window{Cwnd: 50, Ssthresh: 40, Trip: 200 * time.Millisecond}, Every: 100 * time.Millisecond, Processes: 2}
	known := map[string]Row{"a": row(0, 25), "b": row(1, 25)}
	for id, r := range known {
		r.Knows = said.Window
		known[id] = r
	}
	for name, said := range map[string]Message{"with the store's data": said, "with an empty store": {}} {
		l := newLeader()
		_, ok := l.Step(time.Second, time.Second, known, said)
		require.False(t, ok, name)
		_, ok = l.Step(time.Second+100*time.Millisecond, 0, known, said)
		require.False(t, ok, name)
		m, ok := l.Step(time.Second+160*time.Millisecond, 0, known, said)
		require.True(t, ok, name)
		require.InDelta(t, 50, m.Cwnd, 0.01, name)
		require.InDelta(t, 40, m.Ssthresh, 0.01, name)
		require.Empty(t, m.Ranks, "all keep their ranks")
		_, ok = l.Step(3*time.Second, 0, known, m)
		require.False(t, ok, "%s: it was away for longer than a lease", name)
	}
}

// Counts are since the process joined: what was counted before a leader saw it counts for nobody, and a report that is lost
// loses nothing.
func TestTheSumsAreOfWhatIsNew(t *testing.T) {
	l := newLeader()
	r := row(0, 1)
	r.Counts = Counts{Accepted: 1000, Refused: 500, Trips: time.Hour}
	sum, flying := l.sums(map[string]Row{"a": r})
	require.Equal(t, Counts{}, sum)
	require.Equal(t, 1., flying)
	r.Counts = Counts{Accepted: 1003, Refused: 501, Trips: time.Hour + 3*time.Second, RefusedTrips: time.Second}
	sum, _ = l.sums(map[string]Row{"a": r})
	require.Equal(t, Counts{Accepted: 3, Refused: 1, Trips: 3 * time.Second, RefusedTrips: time.Second}, sum)
}

// Shares are less as soon as many answers are refused, and whole again soon after it. The law cuts on its own.
func TestSharesAreLessWhileAnswersAreRefused(t *testing.T) {
	for _, c := range []struct{ accepted, refused, part float64 }{
		{0, 0, 1}, {0, 2, 1}, {0, 3, 0}, {18, 2, 1}, {17, 3, .85}, {28, 3, 1}, {24, 3, 24. / 27}, {10, 30, .25},
	} {
		l := newLeader()
		l.accepted, l.refused = c.accepted, c.refused
		assert.InDelta(t, c.part, l.passed(), 1e-9, "%v", c)
	}
	l := newLeader()
	w := func(at time.Duration, accepted, refused int64) float64 {
		r := row(0, 10)
		r.Counts = Counts{accepted, refused, time.Duration(accepted) * time.Second / 5, time.Duration(refused) * time.Second / 5}
		m, ok := l.Step(time.Second+at, time.Second+at, map[string]Row{"a": r}, Message{})
		require.True(t, ok)
		return m.Cwnd * l.state.Trip.Seconds() / l.trip / l.state.Cwnd
	}
	_, _ = l.Step(time.Second, time.Second, map[string]Row{"a": row(0, 10)}, Message{})
	require.InDelta(t, 1, w(40*time.Millisecond, 10, 0), 1e-9)
	require.InDelta(t, 10*math.Exp(-.8)/(10*math.Exp(-.8)+12), w(80*time.Millisecond, 10, 12), 1e-9)
	require.InDelta(t, 10*math.Exp(-.8)/(10*math.Exp(-.8)+12), w(120*time.Millisecond, 10, 12), 1e-9, "5 in its time")
	require.InDelta(t, 1, w(180*time.Millisecond, 10, 12), 1e-9, "fewer than two")
}

// What is safe is a mean of three seconds: of the half that is taken since six seconds, and of the double before. While fewer
// fly than may, and without a ceiling, the window is safe in any case.
func TestWhatIsSafe(t *testing.T) {
	safe := func(ceiling, flying float64) (m Message) {
		l, r := newLeader(), row(0, flying)
		for i := range 101 {
			now := time.Duration(i) * 100 * time.Millisecond
			m, _ = l.Step(now, now, map[string]Row{"a": r}, Message{})
			l.state.Cwnd, l.state.Ssthresh = 20, ceiling
			n := int64(10)
			if i >= 40 {
				n = 5
			}
			r.Accepted, r.Trips = r.Accepted+n, r.Trips+time.Duration(n)*100*time.Millisecond
		}
		return m
	}
	m := safe(10, 20)
	assert.InDelta(t, 50+50*math.Exp(-6./3), m.Safe*m.Cwnd/m.Trip.Seconds(), 4) // 68 a second with the double, 51 with the half
	assert.Equal(t, 1., safe(window.MaxWindow, 20).Safe)
	assert.Equal(t, 1., safe(10, 1).Safe)
}

// A process keeps its share for a lease and a minute, unless three of ten of twenty answers are refused.
func TestHowLongAShareHolds(t *testing.T) {
	said := Message{
		Window: Window{Cwnd: 8, Ssthresh: 8, Trip: time.Second}, Processes: 2, Every: 100 * time.Millisecond, Safe: 1,
		Slots: Level{Most: 4, Equal: 4}, Ranks: map[string]int{"a": 0}, At: time.Hour,
	}
	at := func(m *Member, now time.Duration) Mode {
		return m.Share(now, now, window.State{Cwnd: 1, Trip: time.Second}).Mode
	}
	begin := func(queued int) *Member {
		m := NewMember("a", 1)
		require.Equal(t, Alone, at(&m, 0))
		m.Heard(0, Message{}, time.Second)
		require.Equal(t, Waiting, at(&m, 0))
		m.answered -= youth
		m.Report(time.Second, Load{Queued: queued, Flying: 4}, time.Second)
		m.Heard(time.Second, said, time.Second)
		require.Equal(t, Shared, at(&m, time.Second))
		return &m
	}
	idle := begin(0)
	require.Equal(t, Silent, at(idle, 62*time.Second-1))
	require.Equal(t, Alone, at(idle, 62*time.Second))
	m := begin(5)
	require.Equal(t, Shared, at(m, 2*time.Second-1))
	require.Equal(t, Silent, at(m, 2*time.Second))
	require.Equal(t, Silent, at(m, 602*time.Second-1))
	s := m.Share(602*time.Second, 602*time.Second, window.State{Trip: time.Second})
	require.Equal(t, Alone, s.Mode)
	require.Equal(t, window.State{Cwnd: 4, Ssthresh: 4, Trip: time.Second, Pace: window.CatchUp}, s.State, "from the share on")
	require.False(t, m.Share(603*time.Second, 0, window.State{}).Set)

	m = begin(5)
	m.Heard(9*time.Second, said, time.Second)
	require.Equal(t, Shared, at(m, 3*time.Second-1), "a message that is not renewed holds for two leases")
	require.Equal(t, Silent, at(m, 3*time.Second))
	said.At++
	m.Heard(10*time.Second, said, time.Second)
	require.Equal(t, Shared, at(m, 11*time.Second-1))

	for _, refused := range []int{6, 7} {
		m = begin(5)
		for i := range 40 { // those before do not count
			m.Ended(time.Second+time.Duration(i), window.End{Outcome: window.Overload, Flying: 1})
		}
		m.Report(time.Second, Load{}, 3*time.Second)
		for i := range 20 {
			require.Equal(t, Silent, at(m, 3*time.Second))
			o := window.Success
			if i < refused {
				o = window.Overload
			}
			m.Ended(3*time.Second, window.End{Outcome: o, Flying: 1})
		}
		require.Equal(t, map[int]Mode{6: Silent, 7: Alone}[refused], at(m, 3*time.Second))
	}

	n := NewMember("c", 1)
	n.Heard(0, Message{}, time.Second)
	require.Equal(t, Waiting, at(&n, patience))
	require.Equal(t, Alone, at(&n, patience+201*time.Millisecond), "nobody leads")
}

// Whatever a message says, a process reports again within a minute, and waits no longer for its first share.
func TestAMessageThatIsWrongHasABound(t *testing.T) {
	m := NewMember("a", 1)
	m.Heard(time.Second, Message{Processes: -5}, time.Second)
	assert.Equal(t, 1, m.Processes())
	m.Heard(time.Second, Message{Processes: 2, Every: 24 * time.Hour, Window: Window{Cwnd: 1, Trip: 24 * time.Hour}}, time.Second)
	assert.Equal(t, time.Minute, m.Every())
	m.Report(time.Second, Load{}, time.Second)
	assert.Equal(t, time.Second/2, m.Every(), "the row does not end before the next report")
	assert.Equal(t, Waiting, m.Share(time.Minute, 0, window.State{}).Mode)
	assert.Equal(t, Alone, m.Share(61*time.Second, 0, window.State{}).Mode)
}
