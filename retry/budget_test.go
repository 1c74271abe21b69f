package retry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/retry"
)

const start = 12 * time.Hour

// pureBudget is a budget that is told the time.
func pureBudget(t testing.TB, s retry.BudgetConfig) *retry.Budget {
	t.Helper()
	b, err := retry.NewBudget(s)
	require.NoError(t, err)
	return b
}

// sent tells of n first attempts, spread over the time before now.
func sent(b *retry.Budget, from, now time.Duration, n int) {
	for i := range n {
		_ = b.AdmitAt(from+(now-from)*time.Duration(i+1)/time.Duration(n), 1)
	}
}

// asked asks for n retries, and returns how many were allowed.
func asked(b *retry.Budget, now time.Duration, n int) (allowed int) {
	for range n {
		if b.AdmitAt(now, 2) == nil {
			allowed++
		}
	}
	return allowed
}

// "Only 10% of outgoing requests can be retries": of all, the retries among them.
func TestTheShareIsOfAllRequests(t *testing.T) {
	b := pureBudget(t, retry.BudgetConfig{Floor: -1})
	sent(b, start, start+time.Millisecond, 900)
	now := start + time.Millisecond
	assert.Equal(t, 100, asked(b, now, 1000))
	requests, retries := b.Counts(now)
	assert.Equal(t, 1000, requests)
	assert.Equal(t, 100, retries)
	assert.Zero(t, asked(b, now, 1))

	b = pureBudget(t, retry.BudgetConfig{Share: 0.2, Floor: -1})
	sent(b, start, now, 100)
	assert.Equal(t, 25, asked(b, now, 1000))
}

// A floor for quiet clients.
func TestTheFloor(t *testing.T) {
	for floor, want := range map[int]int{0: 3, 7: 7, -1: 0, -5: 0} {
		b := pureBudget(t, retry.BudgetConfig{Floor: floor})
		_ = b.AdmitAt(start, 1)
		assert.Equal(t, want, asked(b, start, 100), "floor %d", floor)
		assert.Zero(t, asked(b, (start+10*time.Second-1), 100), "before the window is over")
		assert.Equal(t, want, asked(b, (start+11*time.Second), 100), "and when it is")
	}
	b := pureBudget(t, retry.BudgetConfig{Floor: 7})
	sent(b, start, start, 900)
	assert.Equal(t, 100, asked(b, start, 1000), "the floor is not on top of the share")
}

// What was saved up over the window does not go in one burst.
func TestABurstIsBoundToo(t *testing.T) {
	b := pureBudget(t, retry.BudgetConfig{Floor: -1})
	now := start + 9500*time.Millisecond
	sent(b, start, now, 9500)
	got := asked(b, now, 10_000)
	assert.InDelta(t, 1100.0/9, got, 15, "a tenth of the requests of one second, not of ten")
}

// A retry is a request: neither is remembered longer than the other.
func TestRetriesLeaveTheWindowWithTheirRequests(t *testing.T) {
	b := pureBudget(t, retry.BudgetConfig{})
	_ = b.AdmitAt(start, 1)
	require.NoError(t, b.AdmitAt(start+100*time.Millisecond, 2))
	for now := start; now < start+11*time.Second; now += 50 * time.Millisecond {
		requests, retries := b.Counts(now)
		require.LessOrEqual(t, retries, requests, "after %v", now-start)
	}
}

// FuzzBudget: whenever a retry is allowed, the share or the floor holds over the window and over its newest
// tenth, told from a list of all that was sent.
func FuzzBudget(f *testing.F) {
	f.Add(0.1, 0, []byte{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 255, 1})
	f.Add(0.5, 2, []byte{0, 1, 0, 1, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, share float64, floor int, steps []byte) {
		if len(steps) > 300 {
			return
		}
		b, err := retry.NewBudget(retry.BudgetConfig{Share: share, Floor: floor})
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
				_ = b.AdmitAt(now, 1)
				all = append(all, request{now, false})
				continue
			}
			if b.AdmitAt(now, 2) != nil {
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
				require.True(t, retries <= float64(b.Floor()) || retries <= b.Share()*requests, "%v of %v in %v", retries, requests, span)
			}
		}
	})
}
