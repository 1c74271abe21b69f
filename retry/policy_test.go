package retry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// The limiter's Do uses the same policy and the same budget: one mechanism.
func TestALimiterWithThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, err := retry.NewBudget(retry.BudgetSettings{}, nil)
		require.NoError(t, err)
		p := newPolicy(t, retry.Config{Guards: []attempt.Guard{budget}})
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), Policy: p})
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
		Idempotent: true, MaxAttempts: -1, Backoff: backoff.Exponential{Min: time.Minute, Factor: 1}, Rand: rand.New(rand.NewPCG(1, 2)),
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
	assert.EqualError(t, standard.SetCaps(retry.Caps{MaxAttempts: 9}), "retry: Caps: a change of the default policy is not allowed, want a policy of New")
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

var _ attempt.Guard = (*retry.Budget)(nil)

func TestWrongBudgetsAreNamed(t *testing.T) {
	for want, s := range map[string]retry.BudgetSettings{
		"Share: -0.1 is not allowed, want a number greater than 0 and less than 1": {Share: -0.1},
		"Share: 1 is not allowed, want a number greater than 0 and less than 1":    {Share: 1},
		"Share: NaN is not allowed, want a number greater than 0 and less than 1":  {Share: math.NaN()},
		"Window: 1ms is not allowed, want a duration from 1s to 1h0m0s":            {Window: time.Millisecond},
		"Window: 2h0m0s is not allowed, want a duration from 1s to 1h0m0s":         {Window: 2 * time.Hour},
	} {
		_, err := retry.NewBudget(s, nil)
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

	// The newest tenth of the window counts on its own, and the error says so.
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
	assert.LessOrEqual(t, float64(retries), 0.1*float64(requests)+3)
	assert.GreaterOrEqual(t, retries, 300)
}

var _ attempt.Guard = retry.Sense(nil)

var errFull = errors.New("12 descriptors left")

// looks returns a Sense that finds no room so many times.
func looks(full int) (retry.Sense, *int) {
	n := 0
	return func(context.Context) error {
		if n++; n <= full {
			return errFull
		}
		return nil
	}, &n
}

// It looks after each delay, and a look without room backs off, though the work may not be done twice:
// nothing was sent.
func TestSenseLooksBeforeEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New(retry.Config{MaxAttempts: 5, Backoff: backoff.Exponential{Min: time.Second}})
		require.NoError(t, err)
		sense, looked := looks(3)
		start, sent := time.Now(), 0
		require.NoError(t, retry.Do(t.Context(), p, sense.Before(func(context.Context) error { sent++; return nil })))
		assert.Equal(t, 1, sent, "not before there was room")
		assert.Equal(t, 4, *looked)
		assert.Equal(t, 7*time.Second, time.Since(start), "1 s, 2 s, 4 s")

		sense, looked = looks(9)
		err = retry.Do(t.Context(), p, sense.Before(func(context.Context) error { sent++; return nil }))
		require.ErrorIs(t, err, attempt.ErrAttempts)
		require.ErrorIs(t, err, retry.ErrSense)
		require.ErrorIs(t, err, errFull)
		require.EqualError(t, err, "gave up after 5 attempts: attempt limit reached; last error: retry: carrier sense found no room: 12 descriptors left")
		assert.Equal(t, 1, sent)
		assert.Equal(t, 5, *looked)
	})
}

// What was sent is not tried again because the look before it was free.
func TestSenseLeavesOtherErrorsAlone(t *testing.T) {
	sense, looked := looks(0)
	err := retry.Do(t.Context(), nil, sense.Before(func(context.Context) error { return busy }))
	require.ErrorIs(t, err, retry.ErrNotIdempotent)
	require.NotErrorIs(t, err, retry.ErrSense)
	assert.Equal(t, 1, *looked)
}

func TestSenseAsAGuard(t *testing.T) {
	sense, looked := looks(1)
	r := run.Runner{Guards: []attempt.Guard{sense}}
	sent := 0
	send := func(context.Context) error { sent++; return nil }
	err := r.Do(t.Context(), send)
	require.ErrorIs(t, err, retry.ErrSense)
	require.EqualError(t, err, "gave up before the first attempt: retry: carrier sense found no room: 12 descriptors left")
	require.Zero(t, sent)
	require.NoError(t, r.Do(t.Context(), send))
	assert.Equal(t, 2, *looked)
	assert.Equal(t, 1, sent)

	var story *attempt.Error
	require.ErrorAs(t, err, &story)
	assert.True(t, story.NotSent(), "a policy around it may try again")
	assert.Equal(t, attempt.Verdict{Outcome: window.Neutral, Retry: true}, attempt.Classify(err))
}

func TestALookThatSaysWhen(t *testing.T) {
	err := retry.Sense(func(context.Context) error { return status{code: 503, after: 3 * time.Second} }).Admit(t.Context(), 1)
	assert.Equal(t, attempt.Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: 3 * time.Second}, attempt.Classify(err))
}

// The caller's end is no lack of room.
func TestALookThatTheCallerEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sense := retry.Sense(func(ctx context.Context) error { cancel(); return ctx.Err() })
	err := retry.Do(ctx, nil, sense.Before(func(context.Context) error { t.Error("sent"); return nil }))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, retry.ErrSense)
}

// A batch system that is asked for room before each job.
func ExampleSense() {
	p, err := retry.New(retry.Config{MaxAttempts: 8, Backoff: backoff.Exponential{
		Min: time.Millisecond, Max: time.Second, Jitter: backoff.Uniform(1, 2), CapLast: true,
	}})
	if err != nil {
		panic(err)
	}
	free := 0
	sense := retry.Sense(func(context.Context) error {
		if free += 400; free < 1000 {
			return fmt.Errorf("%d descriptors left, want 1000", free)
		}
		return nil
	})
	err = retry.Do(context.Background(), p, sense.Before(func(ctx context.Context) error {
		fmt.Println("submitted at the attempt", attempt.Number(ctx))
		return nil
	}))
	fmt.Println(err)
	// Output:
	// submitted at the attempt 3
	// <nil>
}
