package admission

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	gate "github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// "Make sure to jitter retry periods on the server side": "period * random(.5, 1.5)" (Safe Client Behaviour).
func TestRetryAfterIsJittered(t *testing.T) {
	for u, want := range map[float64]time.Duration{0: 5 * time.Second, 0.5: 10 * time.Second, 1: 15 * time.Second} {
		r := returns{Min: 10 * time.Second, Max: 10 * time.Second}
		assert.Equal(t, want, r.Shed(0, 0, u))
	}
}

// Few who are shed come back soon, many over as long as they take.
func TestReturnsBookTheTimeAhead(t *testing.T) {
	r := returns{Min: time.Second, Max: 30 * time.Second}
	now := time.Duration(0)
	const each, mid = 10 * time.Millisecond, 0.5
	for range 100 {
		assert.Equal(t, time.Second, r.Shed(now, each, mid))
	}
	assert.Equal(t, 1010*time.Millisecond, r.Shed(now, each, mid))
	now += time.Second
	assert.Equal(t, time.Second, r.Shed(now, each, mid), "time goes by")
	for range 10_000 {
		r.Shed(now, each, mid)
	}
	assert.Equal(t, 30*time.Second, r.Shed(now, each, mid))
	now += time.Hour
	assert.Equal(t, time.Second, r.Shed(now, each, mid), "and nothing is saved up")
	assert.Equal(t, time.Second, r.Shed(now, -time.Hour, mid), "a time below 0 is none")
}

// Of those who are shed in one moment, no second sees more than twice what it
// would see if they came back evenly.
func TestWhoIsShedInOneMomentComesBackEvenly(t *testing.T) {
	for _, n := range []int{100, 1000, 3000} {
		r := returns{Min: time.Second, Max: 30 * time.Second}
		random := rand.New(rand.NewPCG(1, uint64(n)))
		const perSecond = 100
		seconds := map[int]int{}
		for range n {
			seconds[int(r.Shed(0, time.Second/perSecond, random.Float64())/time.Second)]++
		}
		for s, got := range seconds {
			assert.LessOrEqual(t, got, 2*perSecond, "%d shed: second %d", n, s)
		}
	}
}

// With a jittered Retry-After, the peak of the first second after an outage of 30 s is at
// most twice the mean before it; without the jitter it is more: 1000 clients
// that send a request each 10 s, and all at once when the outage begins, since
// all lose their connections then. The service takes 100 ms and 32 at a time,
// and in the outage it does not answer.
func TestAfterAnOutage(t *testing.T) {
	jittered := outage(t, func(r *Shed) time.Duration { return r.RetryAfter })
	fixed := outage(t, func(*Shed) time.Duration { return 10 * time.Second })
	t.Logf("first second after the outage over the mean: %.2f with jitter, %.2f with a fixed Retry-After", jittered, fixed)
	assert.LessOrEqual(t, jittered, 2.0)
	assert.Greater(t, fixed, 5.0)
}

// outage returns the requests of the first second after the outage, as a
// multiple of the mean before it.
func outage(t *testing.T, retryAfter func(*Shed) time.Duration) float64 {
	t.Helper()
	const clients = 1000
	period, begin, end := 10*time.Second, 60*time.Second, 90*time.Second
	core, err := newCore(Fixed(32), Config{})
	require.NoError(t, err)
	w := &world{core: core, t: t}
	random := rand.New(rand.NewPCG(3, 3))
	before, after := 0, 0
	calm := make([]int, clients) // the generation of a client's next request: what is of an older one is off
	var request func(client, generation int)
	var done func(client int)
	next := func(client int, in time.Duration) {
		generation := calm[client]
		w.at(w.now+in, func() { request(client, generation) })
	}
	done = func(client int) { next(client, time.Duration(float64(period)*(0.5+random.Float64()))) }
	request = func(client, generation int) {
		if calm[client] != generation {
			return
		}
		switch {
		case w.now >= period && w.now < begin:
			before++
		case w.now >= end && w.now < end+time.Second:
			after++
		}
		w.request(func(ticket gate.Ticket) {
			takes := 100 * time.Millisecond
			if at := w.now + takes; at > begin && at < end {
				takes = end + time.Duration(random.Int64N(int64(100*time.Millisecond))) - w.now
			}
			w.at(w.now+takes, func() {
				w.core.Answered(w.now, ticket, window.Success)
				done(client)
			})
		}, func(r *Shed) { next(client, retryAfter(r)) })
	}
	for c := range clients {
		w.at(time.Duration(random.Int64N(int64(period))), func() { request(c, 0) })
		w.at(begin, func() {
			calm[c]++
			request(c, calm[c])
		})
	}
	w.run(end + 10*time.Second)
	mean := float64(before) / (begin - period).Seconds()
	require.InDelta(t, clients/period.Seconds(), mean, 10)
	return float64(after) / mean
}

// world is a Core on virtual time.
type world struct {
	t      *testing.T
	core   core
	now    time.Duration
	events agenda
	seq    int
	// waiting has what is to be done with those who wait.
	waiting map[*request]hopes
}

type hopes struct {
	admitted func(gate.Ticket)
	refused  func(*Shed)
}

func (w *world) at(when time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, event{when, w.seq, do})
}

func (w *world) request(admitted func(gate.Ticket), refused func(*Shed)) {
	if ticket, ok := w.core.Tried(w.now); ok {
		admitted(ticket)
		return
	}
	i := &request{}
	if w.waiting == nil {
		w.waiting = map[*request]hopes{}
	}
	w.waiting[i] = hopes{admitted, refused}
	w.core.Queued(w.now, i)
}

// run runs until then: event, drain, and again.
func (w *world) run(until time.Duration) {
	var armed time.Duration
	for len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		if w.now = e.at; w.now > until {
			return
		}
		e.do()
		for i, ticket := w.core.Next(w.now); i != nil; i, ticket = w.core.Next(w.now) {
			w.take(i).admitted(ticket)
		}
		for r := w.core.Shed(); r != nil; r = w.core.Shed() {
			w.take(r).refused(r.shed)
		}
		if at, ok := w.core.Deadline(); ok {
			if at != armed {
				armed = at
				w.at(at, func() {})
			}
		}
	}
}

func (w *world) take(i *request) hopes {
	h, ok := w.waiting[i]
	require.True(w.t, ok, "decided about twice")
	delete(w.waiting, i)
	return h
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(e any)   { *a = append(*a, e.(event)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	*a = (*a)[:last]
	return e
}
