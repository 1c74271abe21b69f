package budget_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/budget"
)

const start = 12 * time.Hour

func newCore(t testing.TB, s budget.Settings) *budget.Core {
	t.Helper()
	b, err := budget.New(s)
	require.NoError(t, err)
	return &b
}

// sent tells of n first attempts, spread over the time before now.
func sent(b *budget.Core, from, now time.Duration, n int) {
	for i := range n {
		b.Sent(from + (now-from)*time.Duration(i+1)/time.Duration(n))
	}
}

// asked asks for n retries, and returns how many were allowed.
func asked(b *budget.Core, now time.Duration, n int) (allowed int) {
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
	sent(b, start, start+time.Millisecond, 900)
	now := start + time.Millisecond
	assert.Equal(t, 100, asked(b, now, 1000))
	_, requests, retries := b.Exhausted(now)
	assert.Equal(t, 1000, requests)
	assert.Equal(t, 100, retries)
	assert.Zero(t, asked(b, now, 1))

	b = newCore(t, budget.Settings{Share: 0.2, Floor: -1})
	sent(b, start, now, 100)
	assert.Equal(t, 25, asked(b, now, 1000))
}

// A floor for quiet clients.
func TestTheFloor(t *testing.T) {
	for floor, want := range map[int]int{0: 3, 7: 7, -1: 0, -5: 0} {
		b := newCore(t, budget.Settings{Floor: floor})
		b.Sent(start)
		assert.Equal(t, want, asked(b, start, 100), "floor %d", floor)
		assert.Zero(t, asked(b, (start+10*time.Second-1), 100), "before the window is over")
		assert.Equal(t, want, asked(b, (start+11*time.Second), 100), "and when it is")
	}
	b := newCore(t, budget.Settings{Floor: 7})
	sent(b, start, start, 900)
	assert.Equal(t, 100, asked(b, start, 1000), "the floor is not on top of the share")
}

// What was saved up over the window does not go in one burst.
func TestABurstIsBoundToo(t *testing.T) {
	b := newCore(t, budget.Settings{Floor: -1})
	now := start + 9500*time.Millisecond
	sent(b, start, now, 9500)
	got := asked(b, now, 10_000)
	assert.InDelta(t, 1100.0/9, got, 15, "a tenth of the requests of one second, not of ten")
}

// A retry is a request: neither is remembered longer than the other.
func TestRetriesLeaveTheWindowWithTheirRequests(t *testing.T) {
	b := newCore(t, budget.Settings{})
	b.Sent(start)
	require.True(t, b.Asked((start + 100*time.Millisecond)))
	for now := start; now < start+11*time.Second; now += 50 * time.Millisecond {
		_, requests, retries := b.Exhausted(now)
		require.LessOrEqual(t, retries, requests, "after %v", now-start)
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
			at    time.Duration
			retry bool
		}
		var all []request
		now := start
		for _, s := range steps {
			now += time.Duration(s) * 5 * time.Millisecond
			if s%2 == 0 {
				b.Sent(now)
				all = append(all, request{now, false})
				continue
			}
			if !b.Asked(now) {
				continue
			}
			all = append(all, request{now, true})
			for _, span := range []time.Duration{10 * time.Second, time.Second} {
				// What is just in the last bucket may count or not.
				var retries, requests float64
				for _, r := range all {
					if age := (now - r.at); r.retry && age < span {
						retries++
						requests++
					} else if age <= span+200*time.Millisecond {
						requests++
					}
				}
				require.True(t, retries <= float64(b.Floor) || retries <= b.Share*requests, "%v of %v in %v", retries, requests, span)
			}
		}
	})
}
