package limiter_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// FuzzGateAgainstTheText drives a gate with a queue and the literal algorithm with the same events, compares them
// after every one, and checks the invariants.
func FuzzGateAgainstTheText(f *testing.F) {
	f.Add([]byte{0, 20, 0, 0, 0, 0, 0, 1, 2, 1, 3, 9, 1, 2, 8, 5, 1, 1, 1})
	f.Add([]byte{1, 3, 1, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 10, 2, 2, 2, 18, 2, 7, 1, 1})
	f.Add([]byte{10, 90, 248, 255, 0, 249, 1, 250, 1, 255, 2, 1, 1})
	f.Add([]byte{2, 1, 0, 0, 0, 0, 2, 2, 2, 6, 6, 2, 7, 255, 2, 7, 255, 7, 255, 1, 4, 3})
	f.Add([]byte{0, 160, 8, 0, 0, 8, 1, 0x8e, 1, 0, 1, 2, 0x96, 0, 1, 0xa6, 2, 0xae, 1, 0x9e, 2, 1, 0x86, 0})
	f.Add([]byte{0, 80, 24, 24, 0x96, 2, 1, 2})
	f.Add([]byte{1, 160, 8, 0, 0, 0x8e, 2, 2, 0xae, 2, 7, 255, 1, 1, 0x9e, 2, 0, 1})
	f.Add([]byte{16, 24, 0, 1, 0, 24, 23, 1, 25, 1, 1, 1})
	f.Add([]byte{16, 160, 0, 15, 1, 0, 23, 1, 0, 0, 15, 1, 1, 0, 31, 1, 2, 24, 24, 24, 1, 7, 3, 1, 0, 15, 1, 0x9e, 0, 1, 4, 0, 15, 1})
	f.Add([]byte("00\x0072002")) // a pause with the window full
	f.Add([]byte("20000\xe602")) // the rules that hold already
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) < 3 || len(input) > 1000 {
			return
		}
		m := newModel(t, input[0], input[1])
		for _, step := range input[2:] {
			m.step(step)
			m.check()
		}
		m.settle()
	})
}

// model is a gate with a queue and its twin, with what the driver knows of both.
type model struct {
	t     *testing.T
	core  limiter.Gate
	queue queue.Queue[int]
	twin  *literalTwin
	law   func(factor float64) window.NewLaw
	// made is what the gate was made with, bounds its window's settings now.
	made   limiter.Settings
	bounds window.Settings
	now    time.Duration
	// seen is what the gate was told of time with the latest event.
	seen time.Duration

	// timed: the law is told round-trip times; watched: the driver tells the time of every event. rtt is the last
	// round-trip time.
	timed, watched bool
	rtt            time.Duration

	ops      int
	items    []*queue.Item[int] // by operation
	waiting  []int
	flying   []flight
	over     []window.Ticket // tickets answered or withdrawn
	answered map[uint64]bool
	cuts     int
	// admitted is cwnd as it was when the last one was admitted.
	admitted float64
	lastID   uint64
}

type flight struct {
	op     int
	ticket window.Ticket
	sent   time.Duration
}

// told is a law that is timed, and holds what it is told to what happened.
type told struct {
	window.Law
	m *model
}

func (told) Timed() bool { return true }

func (l told) Answered(now time.Duration, s window.State, a window.End) window.State {
	m := l.m
	require.Equal(m.t, m.now, now)
	require.Equal(m.t, m.rtt, a.RTT)
	return l.Law.Answered(now, s, a)
}

func newModel(t *testing.T, kind, initial byte) *model {
	start := 1 + float64(initial)/8
	law, tahoe := aimd.Reno, false
	if kind&1 == 1 {
		law, tahoe = func(factor float64) window.NewLaw { return aimd.Tahoe(factor, start) }, true
	}
	factor := 0.5
	if kind&2 == 2 {
		factor = 0.9
	}
	ssthresh := 1024.0
	if kind&16 == 16 {
		ssthresh = window.MaxWindow
	}
	s := starting(start)
	m := &model{
		t: t, twin: newLiteralTwin(tahoe, start, ssthresh, factor), law: law, made: s,
		answered: map[uint64]bool{}, admitted: start, timed: kind&16 == 16, watched: kind&8 == 8,
	}
	m.bounds = window.Settings{Initial: start, Min: 1, Max: window.MaxWindow}
	if m.timed {
		m.law = func(factor float64) window.NewLaw {
			return func(s window.Settings) window.Law { return told{law(factor)(s), m} }
		}
	}
	c, err := limiter.NewGate(m.law(factor), s)
	require.NoError(t, err)
	m.core = c
	if kind&4 == 4 {
		m.twin.ssthresh = 5
		require.NoError(t, m.core.Restored(window.State{Cwnd: start, Ssthresh: 5}))
	}
	return m
}

// at is what a driver tells the gate of time, if it is needed.
func (m *model) at(needed bool) time.Duration {
	if needed || m.watched {
		return m.now
	}
	return 0
}

// book notes a send.
func (m *model) book(op int, k window.Ticket) {
	m.flying = append(m.flying, flight{op, k, m.now})
	m.lastID, m.admitted = k.ID(), m.core.State().Cwnd
}

// step does one event: the low three bits say which, the others to whom.
func (m *model) step(b byte) {
	which := int(b >> 3)
	m.seen = m.at(m.core.Timed())
	switch b & 7 {
	case 0:
		for range 1 + which%4 {
			m.arrive()
		}
		m.try(which / 4)
	case 1:
		m.answer(which, []window.Outcome{window.Success, window.ClientError}[which/16%2])
	case 2:
		m.answer(which, window.Overload)
	case 3:
		m.answer(which, window.Timeout)
	case 4:
		m.answer(which, window.Neutral)
	case 5:
		m.cancel(which)
	case 6:
		if which >= 16 {
			m.reconfigure(which - 16)
		} else {
			m.withdraw(which)
		}
	case 7:
		m.late(which)
		m.now += time.Duration(which) * 100 * time.Millisecond
		m.seen = 0
		if at, ok := m.core.Deadline(m.queue.Len()); ok && at <= m.now {
			m.seen = m.now
		}
	}
	m.drain()
}

func (m *model) arrive() {
	m.seen = m.at(m.core.Timed())
	i := &queue.Item[int]{Value: m.ops}
	m.items = append(m.items, i)
	require.True(m.t, m.queue.Push(i))
	m.twin.arrived(m.ops)
	m.waiting = append(m.waiting, m.ops)
	m.ops++
	m.drain()
}

// try lets new operations go at once, as long as they may.
func (m *model) try(n int) {
	for range n {
		m.seen = m.at(m.core.Timed())
		open := m.queue.Len() == 0 && m.twin.mayFly() && m.core.PausedUntil() <= m.now
		k, ok := window.Ticket{}, false
		if m.queue.Len() == 0 {
			k, ok = m.core.Tried(m.seen)
		}
		require.Equal(m.t, open, ok)
		if !ok {
			return
		}
		op := m.ops
		m.ops++
		m.items = append(m.items, &queue.Item[int]{Value: op})
		m.twin.arrived(op)
		require.Equal(m.t, op, m.twin.sent(k.ID()))
		m.book(op, k)
	}
}

func (m *model) answer(which int, o window.Outcome) {
	f, ok := m.land(which)
	if !ok {
		return
	}
	paused := m.core.PausedUntil()
	m.rtt = m.now - f.sent
	m.seen = m.at(o.Overloaded() || m.core.Timed())
	a, ok := m.core.Answered(m.seen, f.ticket, o, 0)
	require.True(m.t, ok)
	require.Equal(m.t, o, a.Outcome)
	if m.timed || m.watched {
		require.Equal(m.t, m.rtt, a.RTT)
	}
	require.False(m.t, m.answered[f.ticket.ID()], "every id is answered at most once")
	m.answered[f.ticket.ID()] = true
	cut := o.Overloaded() && !a.Ignored
	if cut {
		m.cuts++
	}
	defer func() { m.checkPause(cut, paused) }()
	switch {
	case o.Accepted():
		m.twin.succeeded(f.ticket.ID())
	case o == window.Neutral:
		m.twin.gone(f.ticket.ID())
	default:
		m.twin.failed(f.ticket.ID())
		m.queue.PutBack(m.items[f.op])
		m.twin.rejoined(f.op)
		m.waiting = append(m.waiting, f.op)
	}
}

// land takes one attempt out of the air.
func (m *model) land(which int) (flight, bool) {
	if len(m.flying) == 0 {
		return flight{}, false
	}
	i := which % len(m.flying)
	f := m.flying[i]
	m.flying = append(m.flying[:i], m.flying[i+1:]...)
	m.over = append(m.over, f.ticket)
	return f, true
}

func (m *model) cancel(which int) {
	if len(m.waiting) == 0 {
		return
	}
	i := which % len(m.waiting)
	op := m.waiting[i]
	m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
	require.True(m.t, m.queue.Remove(m.items[op]))
	require.False(m.t, m.queue.Remove(m.items[op]))
	m.twin.cancelled(op)
}

func (m *model) withdraw(which int) {
	if f, ok := m.land(which); ok {
		require.True(m.t, m.core.Withdrawn(f.ticket))
		m.twin.gone(f.ticket.ID())
		m.seen = m.at(m.core.Timed())
	}
}

// late answers an attempt that was answered or withdrawn before.
func (m *model) late(which int) {
	if len(m.over) == 0 {
		return
	}
	k := m.over[which%len(m.over)]
	o := window.Outcome(1 + which%5)
	_, ok := m.core.Answered(m.at(o.Overloaded() || m.core.Timed()), k, o, time.Second)
	require.False(m.t, ok)
	require.False(m.t, m.core.Withdrawn(k))
}

// reconfigure puts the gate under other rules, or under some that it refuses.
func (m *model) reconfigure(which int) {
	s := m.made
	w := &s.Window
	w.Min, w.Max = 1, window.MaxWindow
	factor := 0.5
	switch which % 6 {
	case 1:
		w.Max = 3.5
	case 2:
		w.Min, w.Max, factor = 6, 40, 0.9
	case 3:
		w.Min, w.Max = 2, 2
	case 4:
		w.Min, w.Max = 10, 9 // no bounds
	case 5:
		factor, s.MaxRetryAfter = 0.7, -1 // no time
	}
	initial := w.Initial
	w.Initial = min(max(initial, w.Min), w.Max)
	before, paused, flying := m.core.State(), m.core.PausedUntil(), m.core.Flying()
	m.seen = m.now
	err := m.core.Reconfigured(m.now, m.law(factor), s)
	require.Equal(m.t, flying, m.core.Flying(), "nothing in flight is dropped")
	if which%6 >= 4 {
		require.Error(m.t, err)
		require.Equal(m.t, before, m.core.State(), "what is refused changes nothing")
		require.Equal(m.t, paused, m.core.PausedUntil())
		return
	}
	require.NoError(m.t, err)
	if *w == m.bounds { // the law stays
		factor = m.twin.factor
	}
	m.bounds = *w
	m.twin.reconfigured(w.Min, w.Max, factor, initial)
}

// checkPause: a pause begins at a cut that follows another with nothing accepted in between, and at
// nothing else.
func (m *model) checkPause(cut bool, before time.Duration) {
	if cut && m.twin.streak >= 2 {
		require.Greater(m.t, m.core.PausedUntil(), m.now)
	} else {
		require.Equal(m.t, before, m.core.PausedUntil(), "streak %d", m.twin.streak)
	}
}

func (m *model) drain() {
	for {
		open := m.twin.mayFly()
		k, ok := m.core.Next(m.seen, m.queue.Len())
		if !ok {
			return
		}
		i, _ := m.queue.Ends()
		m.queue.Remove(i)
		require.True(m.t, open, "the twin would not send")
		require.Greater(m.t, k.ID(), m.lastID, "a fresh id, and it rises")
		require.Equal(m.t, m.twin.sent(k.ID()), i.Value, "the same operation")
		m.book(i.Value, k)
		m.waiting = slices.DeleteFunc(m.waiting, func(op int) bool { return op == i.Value })
	}
}

// check holds the invariants of the design and compares the two.
func (m *model) check() {
	s := m.core.State()
	require.Equal(m.t, m.twin.cwnd, s.Cwnd)
	require.Equal(m.t, m.twin.ssthresh, s.Ssthresh)
	require.Equal(m.t, len(m.twin.flying), m.core.Flying())
	require.Equal(m.t, len(m.twin.queue), m.queue.Len())
	require.Equal(m.t, m.twin.cuts, m.cuts, "exactly one cut per burst")

	require.GreaterOrEqual(m.t, m.core.Flying(), 0)
	require.LessOrEqual(m.t, float64(m.core.Flying()), max(1, math.Floor(m.admitted)))
	require.GreaterOrEqual(m.t, s.Cwnd, m.twin.min)
	require.LessOrEqual(m.t, s.Cwnd, m.twin.max)
	require.False(m.t, math.IsInf(s.Cwnd, 0) || math.IsNaN(s.Cwnd))
	if m.core.PausedUntil() <= m.now {
		require.False(m.t, m.queue.Len() > 0 && m.twin.mayFly(), "nobody waits while a slot is free")
	} else {
		at, ok := m.core.Deadline(m.queue.Len())
		require.Equal(m.t, m.queue.Len() > 0 && m.twin.mayFly(), ok, "in a pause there is a time to look again")
		require.True(m.t, !ok || at == m.core.PausedUntil())
	}
}

// settle lets everything succeed: nobody is stranded.
func (m *model) settle() {
	for range 10 * (m.ops + 1) {
		if m.core.Flying() == 0 && m.queue.Len() == 0 {
			break
		}
		m.now += time.Second
		m.seen = m.now
		m.answer(0, window.Success)
		m.drain()
		m.check()
	}
	require.Zero(m.t, m.core.Flying())
	require.Zero(m.t, m.queue.Len())
}
