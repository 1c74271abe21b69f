package budget_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/budget"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newCore(t testing.TB, s budget.Settings) *budget.Core {
	t.Helper()
	b, err := budget.New(s)
	require.NoError(t, err)
	return &b
}

// sent tells of n first attempts, spread over the time before now.
func sent(b *budget.Core, from, now time.Time, n int) {
	for i := range n {
		b.Sent(from.Add(now.Sub(from) * time.Duration(i+1) / time.Duration(n)))
	}
}

// asked asks for n retries, and returns how many were allowed.
func asked(b *budget.Core, now time.Time, n int) (allowed int) {
	for range n {
		if b.Asked(now) {
			allowed++
		}
	}
	return allowed
}

// "Only 10% of outgoing requests can be retries": of all, the retries among them.
func TestTheShareIsOfAllRequests(t *testing.T) {
	b := newCore(t, budget.Settings{Floor: -1})
	sent(b, start, start.Add(time.Millisecond), 900)
	now := start.Add(time.Millisecond)
	assert.Equal(t, 100, asked(b, now, 1000))
	requests, retries := b.Counts(now)
	assert.Equal(t, 1000, requests)
	assert.Equal(t, 100, retries)
	assert.False(t, b.Allows(now))

	b = newCore(t, budget.Settings{Share: 0.2, Floor: -1})
	sent(b, start, now, 100)
	assert.Equal(t, 25, asked(b, now, 1000))
}

// A floor for quiet clients.
func TestTheFloor(t *testing.T) {
	for floor, want := range map[int]int{0: budget.DefaultFloor, 7: 7, -1: 0, -5: 0} {
		b := newCore(t, budget.Settings{Floor: floor})
		b.Sent(start)
		assert.Equal(t, want, asked(b, start, 100), "floor %d", floor)
		assert.Zero(t, asked(b, start.Add(10*time.Second-1), 100), "before the window is over")
		assert.Equal(t, want, asked(b, start.Add(11*time.Second), 100), "and when it is")
	}
	b := newCore(t, budget.Settings{Floor: 7})
	sent(b, start, start, 900)
	assert.Equal(t, 100, asked(b, start, 1000), "the floor is not on top of the share")
}

// What was saved up over the window does not go in one burst.
func TestABurstIsBoundToo(t *testing.T) {
	b := newCore(t, budget.Settings{Floor: -1})
	now := start.Add(9500 * time.Millisecond)
	sent(b, start, now, 9500)
	got := asked(b, now, 10_000)
	assert.InDelta(t, 1100.0/9, got, 15, "a tenth of the requests of one second, not of ten")
}

// event is an attempt in a simulation.
type event struct {
	at      time.Duration
	seq     int
	attempt int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// In an outage of 30 s with 1000 clients, with the budget, retries stay within 10% of requests. Each
// client starts an operation each second, jittered, and retries what failed for ever, after a delay that
// doubles from 100 ms. Counted are the requests of the outage alone, and those of every second of it.
func TestRetriesInAnOutage(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules budget.Settings
		slack float64
	}{
		{"default", budget.Settings{}, 1},
		{"a fifth", budget.Settings{Share: 0.2}, 1},
		// The window covers a bucket, 0.6 s, from before the outage.
		{"half a minute", budget.Settings{Window: 30 * time.Second}, 1.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			const clients, begin, end = 1000, 30 * time.Second, time.Minute
			b := newCore(t, c.rules)
			r := rand.New(rand.NewPCG(5, 7))
			var queue events
			seq := 0
			add := func(at time.Duration, attempt int) {
				seq++
				heap.Push(&queue, event{at, seq, attempt})
			}
			for range clients {
				phase := time.Duration(r.Float64() * float64(time.Second))
				for op := range 90 {
					add(phase+time.Duration((float64(op)+0.1*r.Float64())*float64(time.Second)), 1)
				}
			}
			var requests, retries, refused float64
			perSecond := map[int]float64{}
			for len(queue) > 0 {
				e := heap.Pop(&queue).(event)
				now := start.Add(e.at)
				out := e.at >= begin && e.at < end
				if e.attempt == 1 {
					b.Sent(now)
				} else if !b.Asked(now) {
					refused++
					continue
				} else if out {
					retries++
					perSecond[int(e.at/time.Second)]++
				}
				if out {
					requests++
					backoff := 100 * time.Millisecond << min(e.attempt-1, 10)
					add(e.at+time.Duration(float64(backoff)*(0.5+r.Float64())), e.attempt+1)
				}
			}
			s := b.Settings()
			t.Logf("of %.0f requests %.0f were retries (%.2f%%), %.0f refused", requests, retries, 100*retries/requests, refused)
			assert.LessOrEqual(t, retries, c.slack*s.Share*requests+float64(s.Floor))
			assert.GreaterOrEqual(t, retries, 0.95*s.Share*requests, "what is allowed can be had")
			assert.Greater(t, refused, 10_000.0, "many more were wanted")
			for second, n := range perSecond {
				assert.LessOrEqual(t, n, 1.5*s.Share/(1-s.Share)*clients*max(1, s.Window.Seconds()/10), "in second %d", second)
			}
		})
	}
}

// A retry is a request: neither is remembered longer than the other.
func TestRetriesLeaveTheWindowWithTheirRequests(t *testing.T) {
	b := newCore(t, budget.Settings{})
	b.Sent(start)
	require.True(t, b.Asked(start.Add(100*time.Millisecond)))
	for now := start; now.Before(start.Add(11 * time.Second)); now = now.Add(50 * time.Millisecond) {
		requests, retries := b.Counts(now)
		require.LessOrEqual(t, retries, requests, "after %v", now.Sub(start))
	}
}

// FuzzCore: whenever a retry is allowed, the share or the floor holds over the window and over its newest
// tenth, told from a list of all that was sent.
func FuzzCore(f *testing.F) {
	f.Add(0.1, 0, []byte{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 255, 1})
	f.Add(0.5, 2, []byte{0, 1, 0, 1, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, share float64, floor int, steps []byte) {
		if len(steps) > 300 {
			return
		}
		b, err := budget.New(budget.Settings{Share: share, Floor: floor})
		if err != nil {
			return
		}
		type request struct {
			at    time.Time
			retry bool
		}
		var all []request
		now := start
		for _, s := range steps {
			now = now.Add(time.Duration(s) * 5 * time.Millisecond)
			if s%2 == 0 {
				b.Sent(now)
				all = append(all, request{now, false})
				continue
			}
			allowed, booked := b.Allows(now), b.Asked(now)
			require.Equal(t, allowed, booked)
			if !booked {
				continue
			}
			all = append(all, request{now, true})
			for _, span := range []time.Duration{10 * time.Second, time.Second} {
				// What is just in the last bucket may count or not.
				var retries, requests float64
				for _, r := range all {
					if age := now.Sub(r.at); r.retry && age < span {
						retries++
						requests++
					} else if age <= span+200*time.Millisecond {
						requests++
					}
				}
				s := b.Settings()
				require.True(t, retries <= float64(s.Floor) || retries <= s.Share*requests, "%v of %v in %v", retries, requests, span)
			}
		}
	})
}
