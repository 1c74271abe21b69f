package core_test

import (
	"math"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// checkPause: a pause begins at a cut that follows another with nothing accepted in between, and at
// nothing else.
func (m *model) checkPause(change core.Change, before time.Duration) {
	if change == core.Cut && m.twin.streak >= 2 {
		require.Greater(m.t, m.core.PausedUntil(), m.now)
	} else {
		require.Equal(m.t, before, m.core.PausedUntil(), "streak %d", m.twin.streak)
	}
}

func (m *model) drain() {
	for {
		open := m.twin.mayFly()
		i, k := m.core.Next(m.seen)
		if i == nil {
			return
		}
		require.True(m.t, open, "the twin would not send")
		require.Greater(m.t, k.ID(), m.lastID, "a fresh id, and it rises")
		require.Equal(m.t, m.twin.sent(k.ID()), i.Value, "the same operation")
		m.book(i.Value, k)
		m.waiting = without(m.waiting, i.Value)
	}
}

// check holds the invariants of the design and compares the two.
func (m *model) check() {
	s := m.core.State()
	require.Equal(m.t, m.twin.cwnd, s.Cwnd)
	require.Equal(m.t, m.twin.ssthresh, s.Ssthresh)
	require.Equal(m.t, len(m.twin.flying), m.core.Flying())
	require.Equal(m.t, len(m.twin.queue), m.core.Queue.Len())
	require.Equal(m.t, m.twin.cuts, m.cuts, "exactly one cut per burst")

	require.GreaterOrEqual(m.t, m.core.Flying(), 0)
	require.LessOrEqual(m.t, float64(m.core.Flying()), max(1, math.Floor(m.admitted)))
	require.GreaterOrEqual(m.t, s.Cwnd, m.twin.min)
	require.LessOrEqual(m.t, s.Cwnd, m.twin.max)
	require.False(m.t, math.IsInf(s.Cwnd, 0) || math.IsNaN(s.Cwnd))
	if m.core.PausedUntil() <= m.now {
		require.False(m.t, m.core.Queue.Len() > 0 && m.twin.mayFly(), "nobody waits while a slot is free")
	} else {
		at, ok := m.core.Deadline()
		require.Equal(m.t, m.core.Queue.Len() > 0 && m.twin.mayFly(), ok, "in a pause there is a time to look again")
		require.True(m.t, !ok || at == m.core.PausedUntil())
	}
}

// settle lets everything succeed: nobody is stranded.
func (m *model) settle() {
	for range 10 * (m.ops + 1) {
		if m.core.Flying() == 0 && m.core.Queue.Len() == 0 {
			break
		}
		m.now += time.Second
		m.seen = m.now
		m.answer(0, window.Success)
		m.drain()
		m.check()
	}
	require.Zero(m.t, m.core.Flying())
	require.Zero(m.t, m.core.Queue.Len())
}

func without(ops []int, op int) []int {
	for i, x := range ops {
		if x == op {
			return append(ops[:i], ops[i+1:]...)
		}
	}
	return ops
}
