package admission

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// FuzzCoreAgainstALiteralQueue drives the Core and a list that is sorted anew each time with the same
// events, compares them after every one, and checks the invariants.
func FuzzCoreAgainstALiteralQueue(f *testing.F) {
	f.Add([]byte{3, 4, 0, 0, 8, 16, 24, 32, 1, 1, 2, 5, 0, 9, 18, 27, 7, 1, 1, 6})
	f.Add([]byte{1, 0, 0, 0, 1, 0, 1, 3})
	f.Add([]byte{8, 2, 0, 64, 128, 192, 72, 136, 200, 255, 2, 2, 7, 15, 23, 3, 4, 1})
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) < 3 || len(input) > 200 {
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

// model is a Core and what is known of it from outside.
type model struct {
	t    *testing.T
	core core
	now  time.Duration
	// bound and limit are those of the queue and of the window; the limit is 0 where the law decides.
	bound, limit int

	requests int
	waiting  []*waits // in the order of arrival
	flying   []window.Ticket
	over     []window.Ticket
	ended    map[int]string
}

type waits struct {
	request *request
	n       int
	arrival int
	since   time.Duration
}

const queueTime = time.Second

func newModel(t *testing.T, limit, bound byte) *model {
	m := &model{t: t, bound: int(bound % 8), ended: map[int]string{}}
	l := Adaptive(aimd.Reno(0.5), window.Settings{Initial: float64(1 + limit%16)})
	if limit&16 == 0 {
		m.limit = 1 + int(limit%16)
		l = Fixed(m.limit)
	}
	s := Config{QueueBound: m.bound, QueueTime: queueTime}
	if m.bound == 0 {
		s.QueueBound = -1
	}
	core, err := newCore(l, s)
	require.NoError(t, err)
	m.core = core
	return m
}

// step does one event: the low three bits say which, the others to whom.
func (m *model) step(b byte) {
	which := int(b >> 3)
	switch b & 7 {
	case 0, 1, 2:
		m.arrive(which, b&7 == 1)
	case 3:
		m.answer(which, window.Success)
	case 4:
		m.answer(which, window.Outcome(1+which%4))
	case 5:
		m.cancel(which)
	case 6:
		m.late(which)
	case 7:
		m.now += time.Duration(which) * 50 * time.Millisecond
		m.expire()
		m.drain()
	}
}

func (m *model) open() bool { return len(m.flying) < int(m.core.gate.State().Cwnd) }

func (m *model) arrive(which int, retry bool) {
	w := &waits{arrival: m.requests, since: m.now, request: &request{}, n: m.requests}
	m.requests++
	w.request.tags.Criticality = tag.Sheddable + tag.Criticality(which%4)
	if retry {
		w.request.tags.Attempt = 2
	}
	switch which / 4 % 4 {
	case 2:
		w.request.turn = 1
	case 3:
		w.request.turn = -1
	}
	m.expire()
	ticket, ok := m.core.Tried(m.now)
	require.Equal(m.t, m.open(), ok, "a place is free")
	if ok {
		m.flying = append(m.flying, ticket)
		m.end(w.n, "admitted")
		m.drain()
		return
	}
	m.waiting = append(m.waiting, w)
	if len(m.waiting) > m.bound {
		least, why := m.sorted()[len(m.waiting)-1], displaced
		if least == w {
			why = full
		}
		m.core.Queued(m.now, w.request)
		m.refuse(least, why)
	} else {
		m.core.Queued(m.now, w.request)
	}
	m.drain()
}

// sorted is the literal order: who is worth the most first, at the end who is shed next.
func (m *model) sorted() []*waits {
	all := slices.Clone(m.waiting)
	slices.SortFunc(all, func(a, b *waits) int {
		for _, d := range []int{
			b.request.turn - a.request.turn,
			int(b.request.tags.Criticality) - int(a.request.tags.Criticality),
			a.request.tags.Attempt - b.request.tags.Attempt,
			a.arrival - b.arrival,
		} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
	return all
}

// next is who is served next: as sorted, but retries are no different.
func (m *model) next() *waits {
	best := m.waiting[0]
	for _, w := range m.waiting {
		if w.request.turn > best.request.turn || w.request.turn == best.request.turn && w.request.tags.Criticality > best.request.tags.Criticality {
			best = w
		}
	}
	return best
}

func (m *model) expire() {
	for len(m.waiting) > 0 && m.now-m.waiting[0].since >= queueTime {
		w := m.waiting[0]
		// The core sheds them on its own at its next event, and tells of each.
		m.core.Cancelled(m.now, &request{})
		m.refuse(w, expired)
	}
}

// refuse expects that this one is the next that the core tells to be shed.
func (m *model) refuse(w *waits, why string) {
	r := m.core.Next(m.now)
	require.Same(m.t, w.request, r, why)
	require.NotNil(m.t, r.shed)
	require.Equal(m.t, why, r.shed.Reason)
	require.GreaterOrEqual(m.t, r.shed.RetryAfter, time.Second/2)
	require.Less(m.t, r.shed.RetryAfter, 45*time.Second)
	m.forget(w, why)
}

func (m *model) forget(w *waits, how string) {
	m.waiting = slices.DeleteFunc(m.waiting, func(x *waits) bool { return x == w })
	m.end(w.n, how)
}

func (m *model) end(request int, how string) {
	require.Empty(m.t, m.ended[request], "decided about twice")
	m.ended[request] = how
}

func (m *model) drain() {
	for i := m.core.Next(m.now); i != nil; i = m.core.Next(m.now) {
		require.Nil(m.t, i.shed, "shed for nothing")
		require.True(m.t, m.open(), "one too many is admitted")
		w := m.next()
		require.Same(m.t, w.request, i, "who is served next")
		require.Equal(m.t, m.now-w.since, m.core.Waited(i))
		m.flying = append(m.flying, i.ticket)
		m.forget(w, "admitted")
	}
}

func (m *model) answer(which int, o window.Outcome) {
	m.expire()
	if len(m.flying) == 0 {
		return
	}
	n := which % len(m.flying)
	ticket := m.flying[n]
	m.flying = slices.Delete(m.flying, n, n+1)
	m.over = append(m.over, ticket)
	_, ok := m.core.Answered(m.now, ticket, o)
	require.True(m.t, ok)
	m.drain()
}

func (m *model) cancel(which int) {
	m.expire()
	if len(m.waiting) == 0 {
		return
	}
	w := m.waiting[which%len(m.waiting)]
	require.True(m.t, m.core.Cancelled(m.now, w.request))
	require.False(m.t, m.core.Cancelled(m.now, w.request))
	m.forget(w, "vanished")
	m.drain()
}

// late releases a place a second time.
func (m *model) late(which int) {
	m.expire()
	if len(m.over) > 0 {
		_, ok := m.core.Answered(m.now, m.over[which%len(m.over)], window.Success)
		require.False(m.t, ok)
	}
	m.drain()
}

func (m *model) check() {
	require.Equal(m.t, len(m.flying), m.core.gate.Flying())
	require.Equal(m.t, len(m.waiting), m.core.line.n)
	require.LessOrEqual(m.t, len(m.waiting), m.bound, "the queue is bounded in number")
	require.False(m.t, len(m.waiting) > 0 && m.open(), "nobody waits while a place is free")
	if m.limit > 0 {
		require.LessOrEqual(m.t, len(m.flying), m.limit)
		require.Equal(m.t, float64(m.limit), m.core.gate.State().Cwnd, "a fixed limit stays")
	}
	require.Equal(m.t, m.requests, len(m.ended)+len(m.waiting), "nobody is lost")
	at, ok := m.core.Deadline()
	require.Equal(m.t, len(m.waiting) > 0, ok)
	if ok {
		require.Equal(m.t, m.waiting[0].since+queueTime, at)
		require.Greater(m.t, at, m.now, "the queue is bounded in time")
	}
}

// settle lets time go by and everything be served: nobody is stranded.
func (m *model) settle() {
	m.now += queueTime
	m.expire()
	m.check()
	require.Empty(m.t, m.waiting)
	for len(m.flying) > 0 {
		m.answer(0, window.Success)
		m.check()
	}
}
