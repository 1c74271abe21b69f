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
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
)

// The limiter's Do uses the same policy and the same budget: one mechanism.
func TestALimiterWithThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := newBudget(t, retry.BudgetConfig{})
		p := newPolicy(t, retry.Config{Guards: []attempt.Guard{budget}})
		l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), Policy: p})

		fails := func(n *int) func(context.Context) error {
			*n = 0
			return func(context.Context) error { *n++; return status{HTTP: 503} }
		}
		var n int
		err := l.Do(t.Context(), fails(&n))
		require.ErrorIs(t, err, retry.ErrNotIdempotent)
		require.Equal(t, 1, n)
		err = l.Do(retry.WithIdempotent(t.Context()), fails(&n))
		require.ErrorIs(t, err, aimd.ErrAttempts)
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
	refused := attempt.Failure{Attempt: 1, Err: status{HTTP: 503}, Verdict: verdict.Classify(status{HTTP: 503})}
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
				err := retry.Do(t.Context(), p, func(context.Context) error { n++; return status{HTTP: 503, After: time.Second} })
				assert.ErrorIs(t, err, aimd.ErrAttempts)
				assert.Equal(t, 3, n)
			})
		}
		all.Wait()
	})
}

// "Retries capped" (Safe Client Behaviour), and by the service while the client runs.
func TestCapsOnAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t, retry.Config{Idempotent: true, MaxAttempts: 5})
		for _, c := range []struct{ before, during, want int }{
			{0, 0, 5},
			{1, 1, 1}, // no retries
			{7, 7, 7}, // in the place of the policy's own
			{7, 2, 3}, // lowered while it runs
			{0, 0, 5},
			{-1, -1, 40}, // no limit
		} {
			require.NoError(t, p.SetCaps(c.before, 0))
			ctx, cancel := context.WithCancel(t.Context())
			n := 0
			require.Error(t, retry.Do(ctx, p, func(context.Context) error {
				if n++; n == 3 {
					require.NoError(t, p.SetCaps(c.during, 0))
				} else if n == 40 {
					cancel()
				}
				return busy
			}))
			require.Equal(t, c.want, n)
			cancel()
		}
		for want, err := range map[string]error{
			"retry: pauseMax: 1ns is not allowed, want a duration from 1ms, or 0 for no cap":      p.SetCaps(9, 1),
			"retry: pauseMax: -1ns is not allowed, want a duration from 1ms, or 0 for no cap":     p.SetCaps(9, -1),
			"retry: SetCaps: a change of the default policy is not allowed, want a policy of New": (*retry.Policy)(nil).SetCaps(9, 0),
		} {
			assert.EqualError(t, err, want)
		}
	})
}

// Delays that the cap cuts are as spread as others: "Jitter everything!"
func TestTheCapOnDelaysIsJittered(t *testing.T) {
	p := newPolicy(t, retry.Config{
		Idempotent: true, MaxAttempts: -1, Backoff: backoff.Exponential{Min: time.Minute, Factor: 1}, Rand: rand.New(rand.NewPCG(1, 2)),
	})
	delay := func() time.Duration {
		d := p.Decide(t.Context(), attempt.Failure{
			Attempt: 1, Backoff: 1, Err: busy, Verdict: verdict.Verdict{Meaning: answer.Refused},
		})
		require.True(t, d.Retry)
		return d.Delay
	}
	require.Equal(t, time.Minute, delay())
	require.NoError(t, p.SetCaps(0, time.Minute))
	require.Equal(t, time.Minute, delay(), "what is not longer stays")
	require.NoError(t, p.SetCaps(0, 10*time.Second))
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

func ExamplePolicy_SetCaps() {
	p, err := retry.New(retry.Config{Idempotent: true})
	if err != nil {
		panic(err)
	}
	if err := p.SetCaps(1, 0); err != nil {
		panic(err)
	}
	fmt.Println(retry.Do(context.Background(), p, func(context.Context) error { return busy }))
	// Output:
	// gave up after 1 attempt: aimd: attempt limit reached; last error: httplimit: 503 Slow Down
}

var _ attempt.Guard = (*retry.Budget)(nil)

func newBudget(t *testing.T, c retry.BudgetConfig) *retry.Budget {
	t.Helper()
	b, err := retry.NewBudget(c)
	require.NoError(t, err)
	return b
}

func TestWrongBudgetsAreNamed(t *testing.T) {
	for want, c := range map[string]retry.BudgetConfig{
		"Share: -0.1 is not allowed, want a number greater than 0 and less than 1": {Share: -0.1},
		"Share: 1 is not allowed, want a number greater than 0 and less than 1":    {Share: 1},
		"Share: NaN is not allowed, want a number greater than 0 and less than 1":  {Share: math.NaN()},
		"Window: 1ms is not allowed, want a duration from 1s to 1h0m0s":            {Window: time.Millisecond},
		"Window: 2h0m0s is not allowed, want a duration from 1s to 1h0m0s":         {Window: 2 * time.Hour},
	} {
		_, err := retry.NewBudget(c)
		assert.EqualError(t, err, "retry: "+want)
	}
}

func TestTheShareChangesLive(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{Floor: -1, Share: 0.2})
	b.SetClock(clock.NewMock())
	for range 100 {
		require.NoError(t, b.Admit(t.Context(), 1))
	}
	asked := func() (admitted int) {
		for b.Admit(t.Context(), 2) == nil {
			admitted++
		}
		return admitted
	}
	require.NoError(t, b.SetShare(0.5))
	require.Equal(t, 100, asked(), "what was counted stays")
	require.EqualError(t, b.SetShare(1), "retry: Share: 1 is not allowed, want a number greater than 0 and less than 1")
	require.NoError(t, b.Admit(t.Context(), 1))
	require.NoError(t, b.Admit(t.Context(), 2), "what is refused changes nothing")
	require.NoError(t, b.SetShare(0), "the one of its own")
	require.Zero(t, asked())
	require.Contains(t, b.Admit(t.Context(), 2).Error(), "allowed are 20%")
}

func TestAnExhaustedBudgetSaysSo(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{})
	b.SetClock(clock.NewMock())
	for attempt := range 2 { // 0: not known
		require.NoError(t, b.Admit(t.Context(), attempt))
	}
	for attempt := range 3 {
		require.NoError(t, b.Admit(t.Context(), attempt+2))
	}
	err := b.Admit(t.Context(), 2)
	require.ErrorIs(t, err, retry.ErrBudget)
	require.True(t, verdict.NotSent(err), "other guards do not count it")
	require.EqualError(t, err, "aimd: retry budget exhausted: 3 of 5 requests in 10s were retries, allowed are 10%")
	require.NoError(t, b.Admit(t.Context(), 1), "first attempts always go")
	b.Ended(t.Context(), 0)

	// The newest tenth of the window counts on its own, and the error says so.
	mock := clock.NewMock()
	b = newBudget(t, retry.BudgetConfig{})
	b.SetClock(mock)
	for range 1000 {
		require.NoError(t, b.Admit(t.Context(), 1))
	}
	mock.Add(5 * time.Second)
	for range 3 {
		require.NoError(t, b.Admit(t.Context(), 2))
	}
	require.EqualError(t, b.Admit(t.Context(), 2), "aimd: retry budget exhausted: 3 of 3 requests in 1s were retries, allowed are 10%")
}

// Shared by any number of callers.
func TestManyShareABudget(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{Window: time.Hour})
	var all sync.WaitGroup
	var admitted [2]atomic.Int64 // requests, retries
	for range 8 {
		all.Go(func() {
			for i := range 900 {
				if b.Admit(context.Background(), 1+i%2) == nil {
					admitted[i%2].Inc()
				}
			}
		})
	}
	all.Wait()
	first, retries := admitted[0].Load(), admitted[1].Load()
	assert.EqualValues(t, 3600, first)
	assert.LessOrEqual(t, float64(retries), 0.1*float64(first+retries)+3)
	assert.GreaterOrEqual(t, retries, int64(300))
}

var errFull = errors.New("12 descriptors left")

// looks returns a look that finds no room so many times, and a send, and counts both.
func looks(full int) (look, send func(context.Context) error, looked, sent *int) {
	looked, sent = new(int), new(int)
	return func(context.Context) error {
		if *looked++; *looked <= full {
			return errFull
		}
		return nil
	}, func(context.Context) error { *sent++; return nil }, looked, sent
}

// It looks after each delay, and a look without room backs off, though the work may not be done twice:
// nothing was sent.
func TestSenseLooksBeforeEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t, retry.Config{MaxAttempts: 5, Backoff: backoff.Exponential{Min: time.Second}})
		look, send, looked, sent := looks(3)
		start := time.Now()
		require.NoError(t, retry.Do(t.Context(), p, retry.Sense(look, send)))
		assert.Equal(t, []int{4, 1}, []int{*looked, *sent}, "not sent before there was room")
		assert.Equal(t, 7*time.Second, time.Since(start), "1 s, 2 s, 4 s")

		look, send, looked, sent = looks(9)
		err := retry.Do(t.Context(), p, retry.Sense(look, send))
		require.ErrorIs(t, err, aimd.ErrAttempts)
		require.ErrorIs(t, err, retry.ErrSense)
		require.ErrorIs(t, err, errFull)
		require.EqualError(t, err, "gave up after 5 attempts: aimd: attempt limit reached; last error: aimd: carrier sense found no room: 12 descriptors left")
		assert.Equal(t, []int{5, 0}, []int{*looked, *sent})
	})
}

// What was sent is not tried again because the look before it was free, and the caller's end is no lack of room.
func TestSenseLeavesOtherErrorsAlone(t *testing.T) {
	look, _, looked, _ := looks(0)
	err := retry.Do(t.Context(), nil, retry.Sense(look, func(context.Context) error { return busy }))
	require.ErrorIs(t, err, retry.ErrNotIdempotent)
	require.NotErrorIs(t, err, retry.ErrSense)
	assert.Equal(t, 1, *looked)

	ctx, cancel := context.WithCancel(t.Context())
	ended := func(ctx context.Context) error { cancel(); return ctx.Err() }
	err = retry.Do(ctx, nil, retry.Sense(ended, func(context.Context) error { t.Error("sent"); return nil }))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, retry.ErrSense)
}

// In a limiter a look without room says nothing about load, and a Retry-After of it is obeyed.
func TestTheVerdictOfALook(t *testing.T) {
	for cause, want := range map[error]verdict.Verdict{
		errFull: {Meaning: answer.Passing},
		status{HTTP: 503, After: 3 * time.Second}: {Meaning: answer.Passing, Wait: 3 * time.Second},
	} {
		err := retry.Sense(func(context.Context) error { return cause }, nil)(t.Context())
		assert.Equal(t, want, verdict.Classify(fmt.Errorf("in a limiter: %w", err)))
		assert.True(t, verdict.NotSent(err))
	}
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
	look := func(context.Context) error {
		if free += 400; free < 1000 {
			return fmt.Errorf("%d descriptors left, want 1000", free)
		}
		return nil
	}
	err = retry.Do(context.Background(), p, retry.Sense(look, func(ctx context.Context) error {
		fmt.Println("submitted at the attempt", attempt.Number(ctx))
		return nil
	}))
	fmt.Println(err)
	// Output:
	// submitted at the attempt 3
	// <nil>
}
