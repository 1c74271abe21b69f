package retry_test

import (
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
)

var _ limiter.Guard = (*retry.Budget)(nil)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newBudgetCore(t testing.TB, s retry.BudgetSettings) *retry.BudgetCore {
	t.Helper()
	b, err := retry.NewBudgetCore(s)
	require.NoError(t, err)
	return &b
}

// sent tells of n first attempts, spread over the time before now.
func sent(b *retry.BudgetCore, from, now time.Time, n int) {
	for i := range n {
		b.Sent(from.Add(now.Sub(from) * time.Duration(i+1) / time.Duration(n)))
	}
}

// asked asks for n retries, and returns how many were allowed.
func asked(b *retry.BudgetCore, now time.Time, n int) (allowed int) {
	for range n {
		if b.Asked(now) {
			allowed++
		}
	}
	return allowed
}

// "Only 10% of outgoing requests can be retries": of all, the retries among them.
func TestTheShareIsOfAllRequests(t *testing.T) {
	b := newBudgetCore(t, retry.BudgetSettings{Floor: -1})
	sent(b, start, start.Add(time.Millisecond), 900)
	now := start.Add(time.Millisecond)
	assert.Equal(t, 100, asked(b, now, 1000))
	requests, retries := b.Counts(now)
	assert.Equal(t, 1000, requests)
	assert.Equal(t, 100, retries)
	assert.False(t, b.Allows(now))

	b = newBudgetCore(t, retry.BudgetSettings{Share: 0.2, Floor: -1})
	sent(b, start, now, 100)
	assert.Equal(t, 25, asked(b, now, 1000))
}

// A floor for quiet clients.
func TestTheFloor(t *testing.T) {
	for floor, want := range map[int]int{0: retry.DefaultFloor, 7: 7, -1: 0, -5: 0} {
		b := newBudgetCore(t, retry.BudgetSettings{Floor: floor})
		b.Sent(start)
		assert.Equal(t, want, asked(b, start, 100), "floor %d", floor)
		assert.Zero(t, asked(b, start.Add(10*time.Second-1), 100), "before the window is over")
		assert.Equal(t, want, asked(b, start.Add(11*time.Second), 100), "and when it is")
	}
	b := newBudgetCore(t, retry.BudgetSettings{Floor: 7})
	sent(b, start, start, 900)
	assert.Equal(t, 100, asked(b, start, 1000), "the floor is not on top of the share")
}

// What was saved up over the window does not go in one burst.
func TestABurstIsBoundToo(t *testing.T) {
	b := newBudgetCore(t, retry.BudgetSettings{Floor: -1})
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

// "In an outage of 30 s with 1000 clients, with the budget, retries stay within
// 10% of requests." Each client starts an operation each second, jittered, and
// retries what failed for ever, after a delay that doubles from 100 ms. Counted are
// the requests of the outage alone, and those of every second of it.
func TestRetriesInAnOutage(t *testing.T) {
	for _, c := range []struct {
		name   string
		budget retry.BudgetSettings
		slack  float64
	}{
		{"default", retry.BudgetSettings{}, 1},
		{"a fifth", retry.BudgetSettings{Share: 0.2}, 1},
		// The window covers a bucket, 0.6 s, from before the outage.
		{"half a minute", retry.BudgetSettings{Window: 30 * time.Second}, 1.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			const clients, begin, end = 1000, 30 * time.Second, time.Minute
			b := newBudgetCore(t, c.budget)
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

func TestWrongBudgetsAreNamed(t *testing.T) {
	for want, s := range map[string]retry.BudgetSettings{
		"budget share: -0.1 is not allowed, want a number greater than 0 and less than 1": {Share: -0.1},
		"budget share: 1 is not allowed, want a number greater than 0 and less than 1":    {Share: 1},
		"budget share: NaN is not allowed, want a number greater than 0 and less than 1":  {Share: math.NaN()},
		"budget window: 1ms is not allowed, want a duration from 1s to 1h0m0s":            {Window: time.Millisecond},
		"budget window: 2h0m0s is not allowed, want a duration from 1s to 1h0m0s":         {Window: 2 * time.Hour},
	} {
		_, err := retry.NewBudgetCore(s)
		assert.EqualError(t, err, want)
		_, err = retry.NewBudget(s, nil)
		assert.EqualError(t, err, "retry: "+want)
		b, err := retry.NewBudget(retry.BudgetSettings{}, nil)
		require.NoError(t, err)
		before := b.Settings()
		assert.EqualError(t, b.Reconfigure(s), "retry: "+want)
		assert.Equal(t, before, b.Settings(), "what is refused changes nothing")
	}
}

func TestABudgetIsReconfigured(t *testing.T) {
	mock := clock.NewMock()
	b, err := retry.NewBudget(retry.BudgetSettings{}, mock)
	require.NoError(t, err)
	for range 100 {
		require.NoError(t, b.Admit(t.Context(), 1))
	}
	require.NoError(t, b.Reconfigure(retry.BudgetSettings{Share: 0.5, Floor: -1}))
	requests, _ := b.Counts()
	assert.Equal(t, 100, requests, "what was counted stays")
	for range 100 {
		require.NoError(t, b.Admit(t.Context(), 2))
	}
	require.ErrorIs(t, b.Admit(t.Context(), 2), retry.ErrBudget)
	require.NoError(t, b.Reconfigure(retry.BudgetSettings{Window: time.Minute}))
	requests, _ = b.Counts()
	assert.Zero(t, requests, "with another window the counts begin anew")
	assert.Equal(t, retry.BudgetSettings{Share: 0.1, Window: time.Minute, Floor: 3}, b.Settings())
}

func TestAnExhaustedBudgetSaysSo(t *testing.T) {
	b, err := retry.NewBudget(retry.BudgetSettings{}, clock.NewMock())
	require.NoError(t, err)
	for attempt := range 2 { // 0: not known
		require.NoError(t, b.Admit(t.Context(), attempt))
	}
	for attempt := range 3 {
		require.NoError(t, b.Admit(t.Context(), attempt+2))
	}
	err = b.Admit(t.Context(), 2)
	require.ErrorIs(t, err, retry.ErrBudget)
	require.NotErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "retry: budget exhausted: 3 of 5 requests in 10s were retries, allowed are 10%")
	require.NoError(t, b.Admit(t.Context(), 1), "first attempts always go")
	b.Ended(t.Context(), 0)

	// The newest tenth of the window counts by itself, and the error says so.
	mock := clock.NewMock()
	b, err = retry.NewBudget(retry.BudgetSettings{}, mock)
	require.NoError(t, err)
	for range 1000 {
		require.NoError(t, b.Admit(t.Context(), 1))
	}
	mock.Add(5 * time.Second)
	for range 3 {
		require.NoError(t, b.Admit(t.Context(), 2))
	}
	require.EqualError(t, b.Admit(t.Context(), 2), "retry: budget exhausted: 3 of 3 requests in 1s were retries, allowed are 10%")
}

// Shared by any number of callers.
func TestManyShareABudget(t *testing.T) {
	b, err := retry.NewBudget(retry.BudgetSettings{Window: time.Hour}, nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 900 {
				_ = b.Admit(context.Background(), 1+i%2)
			}
		})
	}
	all.Wait()
	requests, retries := b.Counts()
	assert.Equal(t, 3600, requests-retries)
	assert.LessOrEqual(t, float64(retries), 0.1*float64(requests)+retry.DefaultFloor)
	assert.GreaterOrEqual(t, retries, 300)
}

// A retry is a request: neither is remembered longer than the other.
func TestRetriesLeaveTheWindowWithTheirRequests(t *testing.T) {
	b := newBudgetCore(t, retry.BudgetSettings{})
	b.Sent(start)
	require.True(t, b.Asked(start.Add(100*time.Millisecond)))
	for now := start; now.Before(start.Add(11 * time.Second)); now = now.Add(50 * time.Millisecond) {
		requests, retries := b.Counts(now)
		require.LessOrEqual(t, retries, requests, "after %v", now.Sub(start))
	}
}

// FuzzBudgetCore: whenever a retry is allowed, the share or the floor holds over
// the window and over its newest tenth, told from a list of all that was sent.
func FuzzBudgetCore(f *testing.F) {
	f.Add(0.1, 0, []byte{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 255, 1})
	f.Add(0.5, 2, []byte{0, 1, 0, 1, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, share float64, floor int, steps []byte) {
		if len(steps) > 300 {
			return
		}
		b, err := retry.NewBudgetCore(retry.BudgetSettings{Share: share, Floor: floor})
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
