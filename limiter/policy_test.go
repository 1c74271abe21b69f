package limiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// policy is a Policy that keeps what it was told.
type policy struct {
	mu     sync.Mutex
	told   []attempt.Failure
	decide func(attempt.Failure) attempt.Decision
}

func (p *policy) Decide(_ context.Context, f attempt.Failure) attempt.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, f)
	return p.decide(f)
}

func withPolicy(decide func(attempt.Failure) attempt.Decision) (*policy, func(*limiter.Config)) {
	p := &policy{decide: decide}
	return p, func(c *limiter.Config) { c.Policy = p }
}

func TestAPolicyDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("three is enough")
		p, use := withPolicy(func(f attempt.Failure) attempt.Decision {
			if f.Attempt == 3 {
				return attempt.Decision{Reason: reason}
			}
			return attempt.Decision{Retry: true, Delay: time.Duration(f.Attempt) * time.Minute}
		})
		l := newLimiter(t, 4, use)
		cause := status{code: 400}
		fn, calls := failing(9, cause)
		start := time.Now()
		err := l.Do(t.Context(), func(ctx context.Context) error { time.Sleep(time.Second); return fn(ctx) })
		require.EqualError(t, err, "gave up after 3 attempts: three is enough; last error: 400 Bad Request")
		require.ErrorIs(t, err, reason)
		require.Equal(t, 3, *calls, "its word counts, not the classifier's")
		require.Equal(t, 3*time.Minute+3*time.Second, time.Since(start))
		v := attempt.Verdict{Outcome: window.ClientError}
		require.Equal(t, []attempt.Failure{
			{Attempt: 1, Err: cause, Verdict: v, Backoff: 1, Elapsed: time.Second},
			{Attempt: 2, Err: cause, Verdict: v, Backoff: 2, Last: time.Minute, Elapsed: time.Minute + 2*time.Second},
			{Attempt: 3, Err: cause, Verdict: v, Backoff: 3, Last: 2 * time.Minute, Elapsed: 3*time.Minute + 3*time.Second},
		}, p.told)
	})
}

func TestAPolicyMayFindAnErrorFinal(t *testing.T) {
	_, use := withPolicy(func(attempt.Failure) attempt.Decision { return attempt.Decision{} })
	fn, calls := failing(9, status{code: 503})
	err := newLimiter(t, 4, use).Do(t.Context(), fn)
	require.EqualError(t, err, "failed after 1 attempt: 503 Service Unavailable")
	require.Equal(t, 1, *calls)
}

// The window paces overloads; an operation backs off by itself after several only.
func TestTheLimiterSaysWhenToBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, use := withPolicy(func(f attempt.Failure) attempt.Decision { return attempt.Decision{Retry: true} })
		l := newLimiter(t, 4, use, func(c *limiter.Config) { c.Patience = 2; c.PauseMax = -1 })
		fails := []error{status{code: 503}, status{code: 503}, status{code: 503}, status{code: 500}, context.DeadlineExceeded}
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
			if n := attempt.Number(ctx); n <= len(fails) {
				return fails[n-1]
			}
			return nil
		}))
		var backoffs []int
		for _, f := range p.told {
			backoffs = append(backoffs, f.Backoff)
		}
		require.Equal(t, []int{0, 0, 1, 4, 3}, backoffs)
	})
}

// The longer of the policy's own delay and the Retry-After that it obeys.
func TestThePolicySaysHowARetryAfterIsObeyed(t *testing.T) {
	for _, c := range []struct{ delay, after, want time.Duration }{
		{time.Minute, time.Second, time.Minute},
		{time.Second, time.Minute, time.Minute},
		{0, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, use := withPolicy(func(f attempt.Failure) attempt.Decision {
				return attempt.Decision{Retry: true, Delay: c.delay, RetryAfter: c.after}
			})
			l := newLimiter(t, 1, use)
			fn, _ := failing(1, status{code: 503, after: time.Hour})
			start := time.Now()
			done := make(chan error)
			go func() { done <- l.Do(t.Context(), fn) }()
			synctest.Wait()
			require.Zero(t, l.Snapshot().InFlight, "no slot is held while it waits")
			require.NoError(t, <-done)
			require.Equal(t, c.want, time.Since(start))
		})
	}
}

func TestTheLowerAttemptLimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, use := withPolicy(func(f attempt.Failure) attempt.Decision { return attempt.Decision{Retry: true} })
		l := newLimiter(t, 4, use, func(c *limiter.Config) { c.MaxAttempts = 2 })
		fn, calls := failing(9, status{code: 503})
		require.ErrorIs(t, l.Do(t.Context(), fn), attempt.ErrAttempts)
		require.Equal(t, 2, *calls)
	})
}

func TestAPolicyIsThereForEachToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, use := withPolicy(func(f attempt.Failure) attempt.Decision {
			return attempt.Decision{Retry: f.Attempt < 3, Delay: time.Second}
		})
		l := newLimiter(t, 4, use)
		attempts := map[int]int{}
		for _, err := range aimd.Each(t.Context(), l, count(10), func(ctx context.Context, i int) error {
			if n := attempt.Number(ctx); n <= i/2 {
				return status{code: 500}
			}
			return nil
		}) {
			var story *attempt.Error
			if errors.As(err, &story) {
				attempts[story.Attempts]++
			} else {
				attempts[0]++
			}
		}
		require.Equal(t, map[int]int{0: 6, 3: 4}, attempts)
	})
}

func TestTheContextTellsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Zero(t, attempt.Number(t.Context()))
		l := newLimiter(t, 4, func(c *limiter.Config) { c.AttemptTimeout = time.Second })
		var seen []int
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
			seen = append(seen, attempt.Number(ctx))
			require.True(t, l.HasSlot(ctx))
			require.False(t, newLimiter(t, 1).HasSlot(ctx))
			if len(seen) < 3 {
				return status{code: 503}
			}
			return new(run.Runner).Do(ctx, func(ctx context.Context) error {
				require.Equal(t, 1, attempt.Number(ctx), "that of the operation within")
				require.True(t, l.HasSlot(ctx))
				return nil
			})
		}))
		require.Equal(t, []int{1, 2, 3}, seen)
	})
}
