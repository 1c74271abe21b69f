package limiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
)

// policy is a Policy that keeps what it was told.
type policy struct {
	mu     sync.Mutex
	told   []limiter.Failure
	decide func(limiter.Failure) limiter.Decision
}

func (p *policy) Decide(_ context.Context, f limiter.Failure) limiter.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, f)
	return p.decide(f)
}

func withPolicy(decide func(limiter.Failure) limiter.Decision) (*policy, func(*limiter.Config)) {
	p := &policy{decide: decide}
	return p, func(c *limiter.Config) { c.Policy = p }
}

func TestAPolicyDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("three is enough")
		p, use := withPolicy(func(f limiter.Failure) limiter.Decision {
			if f.Attempt == 3 {
				return limiter.Decision{Reason: reason}
			}
			return limiter.Decision{Retry: true, Delay: time.Duration(f.Attempt) * time.Minute}
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
		v := limiter.Verdict{Outcome: limiter.Neutral}
		require.Equal(t, []limiter.Failure{
			{Attempt: 1, Err: cause, Verdict: v, Backoff: 1, Elapsed: time.Second},
			{Attempt: 2, Err: cause, Verdict: v, Backoff: 2, Last: time.Minute, Elapsed: time.Minute + 2*time.Second},
			{Attempt: 3, Err: cause, Verdict: v, Backoff: 3, Last: 2 * time.Minute, Elapsed: 3*time.Minute + 3*time.Second},
		}, p.told)
	})
}

func TestAPolicyMayFindAnErrorFinal(t *testing.T) {
	_, use := withPolicy(func(limiter.Failure) limiter.Decision { return limiter.Decision{} })
	fn, calls := failing(9, status{code: 503})
	err := newLimiter(t, 4, use).Do(t.Context(), fn)
	require.EqualError(t, err, "failed after 1 attempt: 503 Service Unavailable")
	require.Equal(t, 1, *calls)
}

// The window paces overloads; an operation backs off by itself after several only.
func TestTheLimiterSaysWhenToBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, use := withPolicy(func(f limiter.Failure) limiter.Decision { return limiter.Decision{Retry: true} })
		l := newLimiter(t, 4, use, func(c *limiter.Config) { c.Patience = 2; c.PauseMax = -1 })
		fails := []error{status{code: 503}, status{code: 503}, status{code: 503}, status{code: 500}, context.DeadlineExceeded}
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
			if n := limiter.AttemptNumber(ctx); n <= len(fails) {
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
			_, use := withPolicy(func(f limiter.Failure) limiter.Decision {
				return limiter.Decision{Retry: true, Delay: c.delay, RetryAfter: c.after}
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
		_, use := withPolicy(func(f limiter.Failure) limiter.Decision { return limiter.Decision{Retry: true} })
		l := newLimiter(t, 4, use, func(c *limiter.Config) { c.MaxAttempts = 2 })
		fn, calls := failing(9, status{code: 503})
		require.ErrorIs(t, l.Do(t.Context(), fn), limiter.ErrAttempts)
		require.Equal(t, 2, *calls)
	})
}

func TestAPolicyIsThereForEachToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, use := withPolicy(func(f limiter.Failure) limiter.Decision {
			return limiter.Decision{Retry: f.Attempt < 3, Delay: time.Second}
		})
		l := newLimiter(t, 4, use)
		attempts := map[int]int{}
		for _, err := range limiter.Each(t.Context(), l, count(10), func(ctx context.Context, i int) error {
			if n := limiter.AttemptNumber(ctx); n <= i/2 {
				return status{code: 500}
			}
			return nil
		}) {
			var story *limiter.Error
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
		require.Zero(t, limiter.AttemptNumber(t.Context()))
		l := newLimiter(t, 4, func(c *limiter.Config) { c.AttemptTimeout = time.Second })
		var seen []int
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
			seen = append(seen, limiter.AttemptNumber(ctx))
			require.True(t, l.HasSlot(ctx))
			require.False(t, newLimiter(t, 1).HasSlot(ctx))
			if len(seen) < 3 {
				return status{code: 503}
			}
			return limiter.Loop{}.Do(ctx, func(ctx context.Context) error {
				require.Equal(t, 1, limiter.AttemptNumber(ctx), "that of the operation within")
				require.True(t, l.HasSlot(ctx))
				return nil
			})
		}))
		require.Equal(t, []int{1, 2, 3}, seen)
	})
}

// A loop without a limiter.
func TestALoopAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, calls := failing(9, status{code: 503})
		require.EqualError(t, limiter.Loop{}.Do(t.Context(), fn), "failed after 1 attempt: 503 Service Unavailable",
			"nothing is tried again without a policy")
		require.Equal(t, 1, *calls)

		var w warden
		p := &policy{decide: func(f limiter.Failure) limiter.Decision {
			return limiter.Decision{Retry: f.Attempt < 4, Delay: time.Second, Reason: limiter.ErrAttempts}
		}}
		loop := limiter.Loop{Policy: p, Guards: limiter.Guards{&w}, AttemptTimeout: time.Minute}
		fn, calls = failing(9, status{code: 503})
		start := time.Now()
		require.ErrorIs(t, loop.Do(t.Context(), fn), limiter.ErrAttempts)
		require.Equal(t, 4, *calls)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, []int{1, 2, 3, 4}, []int{p.told[0].Backoff, p.told[1].Backoff, p.told[2].Backoff, p.told[3].Backoff},
			"no window paces it")
		require.Zero(t, w.open)

		require.ErrorIs(t, loop.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), limiter.ErrAttempts)
		require.Equal(t, limiter.Timeout, p.told[len(p.told)-1].Verdict.Outcome)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.EqualError(t, loop.Do(ctx, fn), "gave up before the first attempt: context canceled")
		require.EqualError(t, limiter.Loop{}.Do(ctx, fn), "gave up before the first attempt: context canceled")
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, loop.Do(ctx, fn), context.DeadlineExceeded)
		require.Zero(t, w.open)
	})
}

// An error says what those who only know it by its methods want to know.
func TestAnErrorOfAnOperationWithin(t *testing.T) {
	for _, c := range []struct {
		err             limiter.Error
		timeout, unsent bool
	}{
		{limiter.Error{Reason: limiter.ErrClosed}, false, true},
		{limiter.Error{Reason: context.DeadlineExceeded}, true, true},
		{limiter.Error{Attempts: 1, Cause: status{code: 503}}, false, false},
		{limiter.Error{Attempts: 1, Cause: unsent{}}, false, true},
		{limiter.Error{Attempts: 2, Cause: unsent{}}, false, false}, // the first was perhaps
		{limiter.Error{Attempts: 2, Reason: limiter.ErrAttempts, Cause: context.DeadlineExceeded}, true, false},
	} {
		require.Equal(t, c.timeout, c.err.Timeout(), c.err.Error())
		require.Equal(t, c.unsent, c.err.NotSent(), c.err.Error())
	}
}
