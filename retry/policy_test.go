package retry_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// The limiter's Do uses the same policy and the same budget: one mechanism.
func TestALimiterWithThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, err := retry.NewBudget(retry.BudgetSettings{}, nil)
		require.NoError(t, err)
		p := newPolicy(t, retry.Config{Guards: []attempt.Guard{budget}})
		l, err := aimd.NewReno(aimd.WithPolicy(p))
		require.NoError(t, err)

		fails := func(n *int) func(context.Context) error {
			*n = 0
			return func(context.Context) error { *n++; return status{code: 503} }
		}
		var n int
		err = l.Do(t.Context(), fails(&n))
		require.ErrorIs(t, err, retry.ErrNotIdempotent)
		require.Equal(t, 1, n)
		err = l.Do(retry.WithIdempotent(t.Context()), fails(&n))
		require.ErrorIs(t, err, attempt.ErrAttempts)
		require.Equal(t, 3, n)
		err = l.Do(retry.WithIdempotent(t.Context()), fails(&n))
		require.ErrorIs(t, err, retry.ErrBudget)
		require.Equal(t, 2, n)
		err = retry.Do(retry.WithIdempotent(t.Context()), p, fails(&n))
		require.ErrorIs(t, err, retry.ErrBudget, "shared")
		require.Equal(t, 1, n)
		require.Zero(t, l.Snapshot().InFlight)
	})
}

// In a limiter the window paces what is refused; only a Retry-After delays it.
func TestALimiterPacesOverloads(t *testing.T) {
	p := newPolicy(t, retry.Config{Idempotent: true})
	refused := attempt.Failure{Attempt: 1, Err: status{code: 503}, Verdict: attempt.Classify(status{code: 503})}
	assert.Equal(t, attempt.Decision{Retry: true}, p.Decide(t.Context(), refused))
	refused.Backoff = 1
	assert.Positive(t, p.Decide(t.Context(), refused).Delay)
}

func TestManyUseOnePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t, retry.Config{Idempotent: true, Rand: rand.New(rand.NewPCG(1, 1))})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				n := 0
				err := retry.Do(t.Context(), p, func(context.Context) error { n++; return status{code: 503, after: time.Second} })
				assert.ErrorIs(t, err, attempt.ErrAttempts)
				assert.Equal(t, 3, n)
			})
		}
		all.Wait()
	})
}

// "Retries capped" (Safe Client Behaviour), and by the service while the client runs.
func TestCapsOnAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New(retry.Config{Idempotent: true, MaxAttempts: 5})
		require.NoError(t, err)
		attempts := func(lower int) (n int) {
			err := retry.Do(t.Context(), p, func(context.Context) error {
				if n++; n == lower {
					require.NoError(t, p.SetCaps(retry.Caps{MaxAttempts: 2}))
				}
				return busy
			})
			require.ErrorIs(t, err, attempt.ErrAttempts)
			return n
		}
		require.Equal(t, 5, attempts(0))
		require.NoError(t, p.SetCaps(retry.Caps{MaxAttempts: 1}))
		require.Equal(t, 1, attempts(0), "no retries")
		require.NoError(t, p.SetCaps(retry.Caps{MaxAttempts: 7}))
		require.Equal(t, 7, attempts(0), "in the place of the policy's own")
		require.Equal(t, 3, attempts(3), "lowered while it runs")
		require.Equal(t, retry.Caps{MaxAttempts: 2}, p.Caps())
		require.NoError(t, p.SetCaps(retry.Caps{}))
		require.Equal(t, 5, attempts(0))
		require.NoError(t, p.SetCaps(retry.Caps{MaxAttempts: -1}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		n := 0
		require.ErrorIs(t, retry.Do(ctx, p, func(context.Context) error { n++; return busy }), context.DeadlineExceeded)
		require.Greater(t, n, 50, "no limit")
	})
}

// Delays that the cap cuts are as spread as others: "Jitter everything!"
func TestTheCapOnDelaysIsJittered(t *testing.T) {
	p, err := retry.New(retry.Config{
		Idempotent: true, MaxAttempts: -1, Backoff: backoff.Constant(time.Minute), Rand: rand.New(rand.NewPCG(1, 2)),
	})
	require.NoError(t, err)
	delay := func() time.Duration {
		d := p.Decide(t.Context(), attempt.Failure{
			Attempt: 1, Backoff: 1, Err: busy, Verdict: attempt.Verdict{Outcome: window.Overload, Retry: true},
		})
		require.True(t, d.Retry)
		return d.Delay
	}
	require.Equal(t, time.Minute, delay())
	require.NoError(t, p.SetCaps(retry.Caps{PauseMax: time.Minute}))
	require.Equal(t, time.Minute, delay(), "what is not longer stays")
	require.NoError(t, p.SetCaps(retry.Caps{PauseMax: 10 * time.Second}))
	seen := map[time.Duration]bool{}
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		d := delay()
		seen[d] = true
		low, high = min(low, d), max(high, d)
	}
	assert.Greater(t, len(seen), 990)
	assert.GreaterOrEqual(t, low, 5*time.Second)
	assert.Less(t, low, 5100*time.Millisecond)
	assert.LessOrEqual(t, high, 10*time.Second)
	assert.Greater(t, high, 9900*time.Millisecond)
}

func TestCapsThatAreNotAllowed(t *testing.T) {
	p, err := retry.New(retry.Config{})
	require.NoError(t, err)
	require.NoError(t, p.SetCaps(retry.Caps{MaxAttempts: 4}))
	for want, c := range map[string]retry.Caps{
		"retry: PauseMax: 1ns is not allowed, want a duration from 1ms, or 0 for no cap":  {MaxAttempts: 9, PauseMax: 1},
		"retry: PauseMax: -1ns is not allowed, want a duration from 1ms, or 0 for no cap": {MaxAttempts: 9, PauseMax: -1},
	} {
		assert.EqualError(t, p.SetCaps(c), want)
		assert.Equal(t, retry.Caps{MaxAttempts: 4}, p.Caps())
	}
	var standard *retry.Policy
	assert.EqualError(t, standard.SetCaps(retry.Caps{MaxAttempts: 9}), "retry: caps of the default policy: a change is not allowed, want a policy of New")
	assert.Zero(t, standard.Caps())
}

func ExamplePolicy_SetCaps() {
	p, err := retry.New(retry.Config{Idempotent: true})
	if err != nil {
		panic(err)
	}
	if err := p.SetCaps(retry.Caps{MaxAttempts: 1}); err != nil {
		panic(err)
	}
	fmt.Println(retry.Do(context.Background(), p, func(context.Context) error { return busy }))
	// Output:
	// gave up after 1 attempt: attempt limit reached; last error: httplimit: 503 Slow Down
}
