package aimd_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/window"
)

// status is an error that tells an HTTP status and a Retry-After.
type status = attempttest.Status

// failing returns a function that fails so many times, and what counts its calls.
func failing(times int, err error) (func(context.Context) error, *int) {
	calls := 0
	return func(context.Context) error {
		calls++
		if calls <= times {
			return err
		}
		return nil
	}, &calls
}

func TestWhatDoReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4)
		fn, calls := failing(2, status{HTTP: 503})
		require.NoError(t, l.Do(t.Context(), fn))
		require.Equal(t, 3, *calls)

		cause := status{HTTP: 404}
		fn, calls = failing(9, cause)
		err := l.Do(t.Context(), fn)
		require.EqualError(t, err, "failed after 1 attempt: 404 Not Found")
		require.Equal(t, &attempt.Error{Attempts: 1, Cause: cause}, err)
		require.Equal(t, 1, *calls)
		s := l.Snapshot()
		require.Equal(t, []uint64{4, 2, 1, 1, 0}, []uint64{s.Attempts, s.Overloads, s.Successes, s.ClientErrors, s.Late})
		require.Zero(t, s.InFlight)
	})
}

// An operation gives its slot back while it waits: others run meanwhile.
func TestDoHoldsNoSlotWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1)
		fn, _ := failing(1, status{HTTP: 429, After: time.Minute})
		start, done := time.Now(), make(chan error)
		go func() { done <- l.Do(t.Context(), fn) }()
		synctest.Wait()
		require.Zero(t, l.Snapshot().InFlight)
		require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
		require.NoError(t, <-done)
		require.GreaterOrEqual(t, time.Since(start), time.Minute)
		require.LessOrEqual(t, time.Since(start), time.Minute+time.Second)
	})
}

func TestDoDoesNotWaitForADeadlineThatComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start, cause := time.Now(), status{HTTP: 503, After: time.Minute}
		err := l.Do(ctx, func(context.Context) error { return cause })
		require.Zero(t, time.Since(start), "the next attempt would be after the deadline")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "gave up after 1 attempt: the next attempt is due in 1m0.")

		cause.After = 30 * time.Second // the second answer comes half a minute before the deadline
		require.Error(t, l.Do(ctx, func(context.Context) error { return cause }))
		require.GreaterOrEqual(t, time.Since(start), 30*time.Second)
		require.Less(t, time.Since(start), time.Minute)
	})
}

func TestDoAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4)
		cause := status{HTTP: 503, After: time.Hour}
		done := make(chan error, 2)
		go func() { done <- l.Do(t.Context(), func(context.Context) error { return cause }) }()
		running := make(chan struct{})
		go func() {
			done <- l.Do(t.Context(), func(context.Context) error { <-running; return status{HTTP: 503} })
		}()
		synctest.Wait()
		l.Close()
		err := <-done
		require.ErrorIs(t, err, aimd.ErrClosed)
		require.ErrorIs(t, err, cause, "and what it failed with before")
		close(running)
		err = <-done
		require.EqualError(t, err, "gave up after 1 attempt: aimd: closed; last error: 503 Service Unavailable")
		require.NoError(t, l.Shutdown(t.Context()))
	})
}

// policy is an attempt.Policy.
type policy func(attempt.Failure) attempt.Decision

func (p policy) Decide(_ context.Context, f attempt.Failure) attempt.Decision { return p(f) }

// The window paces overloads; an operation backs off on its own after several only. The policy of the
// limiter is the policy of Each too.
func TestTheLimiterSaysWhenToBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var backoffs []int
		l := newLimiter(t, 4, func(c *aimd.Config) {
			c.PauseMax = -1
			c.Policy = policy(func(f attempt.Failure) attempt.Decision {
				backoffs = append(backoffs, f.Backoff)
				return attempt.Decision{Retry: true, Delay: time.Second}
			})
		})
		fails := append(slices.Repeat([]error{status{HTTP: 503}}, 6), status{HTTP: 500}, context.DeadlineExceeded)
		fn := func(ctx context.Context) error {
			if n := attempt.Number(ctx); n <= len(fails) {
				return fails[n-1]
			}
			return nil
		}
		start := time.Now()
		require.NoError(t, l.Do(t.Context(), fn))
		require.Equal(t, 8*time.Second, time.Since(start))
		require.NoError(t, aimd.Each(t.Context(), l, count(1), func(ctx context.Context, _ int) error { return fn(ctx) }))
		require.Equal(t, slices.Repeat([]int{0, 0, 0, 0, 0, 1, 7, 3}, 2), backoffs)
	})
}

// A Retry-After gets its jitter once: the operation comes back when the pause ends.
func TestAnOperationComesBackWithThePauseThatItCaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe, told := kinds(event.Paused)
		l := newLimiter(t, 4, observe)
		back := 0
		require.NoError(t, l.Do(t.Context(), func(context.Context) error {
			for _, e := range told() {
				if e.RetryAfter > 0 {
					require.Equal(t, e.Time.Add(e.Wait), time.Now())
					back++
				}
			}
			if back == 20 {
				return nil
			}
			return status{HTTP: 503, After: 10 * time.Second}
		}))
	})
}

// guard counts the attempts that it admitted and that have not ended. Its functions may be nil.
type guard struct {
	open   atomic.Int64
	refuse func() error
	ended  func()
}

func (g *guard) Admit(context.Context, int) error {
	if g.refuse != nil {
		if err := g.refuse(); err != nil {
			return err
		}
	}
	g.open.Inc()
	return nil
}

func (g *guard) Ended(context.Context, window.Outcome) {
	g.open.Dec()
	if g.ended != nil {
		g.ended()
	}
}

func guarded(guards ...attempt.Guard) func(*aimd.Config) {
	return func(c *aimd.Config) { c.Guards = guards }
}

// safely runs f on a goroutine of its own, whatever f does to it.
func safely(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	<-done
}

// turns are the turns of a limiter that are taken one after another, each of a second.
func turns(t *testing.T, l *aimd.Limiter, came func(do func(ctx context.Context, name string))) (order []string) {
	p := attempttest.Acquire(t, l)
	var all sync.WaitGroup
	came(func(ctx context.Context, name string) {
		all.Go(func() {
			assert.NoError(t, l.Do(ctx, func(context.Context) error {
				order = append(order, name)
				time.Sleep(time.Second)
				return nil
			}))
		})
		synctest.Wait()
	})
	p.Done(window.Success)
	all.Wait()
	return order
}

// With one slot a quarter of the slots is none: the others have one turn in four, and the urgent ones are not last.
func TestUrgentWithOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 1, MaxWindow: 1})
		order := turns(t, l, func(do func(context.Context, string)) {
			for _, name := range []string{"a", "b", "c"} {
				do(t.Context(), name)
			}
			for _, name := range []string{"1", "2", "3", "4", "5"} {
				do(aimd.WithAmount(aimd.Urgent(t.Context()), 1), name)
			}
		})
		require.Equal(t, []string{"1", "2", "3", "a", "4", "5", "b", "c"}, order)
	})
}

// If a rate is the limit, hardly an attempt is in flight: of the slots in use a batch would have too few for ever.
func TestUrgentAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{MaxRate: 10})
		short := func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() { assert.NoError(t, l.Do(t.Context(), short)) })
		}
		for range 10 {
			time.Sleep(time.Second)
			began := time.Now()
			require.NoError(t, l.Do(aimd.Urgent(t.Context()), short))
			require.LessOrEqual(t, time.Since(began), 220*time.Millisecond)
		}
		all.Wait()
	})
}

// QueueBound bounds both lanes together.
func TestUrgentOnesCountInTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{MaxWindow: 1, QueueBound: 2})
		turns(t, l, func(do func(context.Context, string)) {
			do(t.Context(), "a")
			do(aimd.Urgent(t.Context()), "b")
			for _, ctx := range []context.Context{t.Context(), aimd.Urgent(t.Context())} {
				_, err := l.Acquire(ctx)
				require.ErrorIs(t, err, aimd.ErrQueueFull)
			}
		})
	})
}

// Urgent calls that are too many have deadlines as others do, and those that go are in time.
func TestUrgentCallersWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		s, start := &counter{start: time.Now()}, time.Now()
		var mu sync.Mutex
		var all sync.WaitGroup
		batch, came, done := 0, 0, 0
		for range 64 {
			all.Go(func() {
				for time.Since(start) < 20*time.Second {
					assert.NoError(t, l.Do(t.Context(), s.call))
					mu.Lock()
					batch++
					mu.Unlock()
				}
			})
		}
		for time.Since(start) < 20*time.Second { // 1.5 times all slots
			time.Sleep(time.Duration(rand.ExpFloat64() / 480 * float64(time.Second)))
			late := time.Since(start) > 8*time.Second
			all.Go(func() {
				ctx, cancel := context.WithTimeout(aimd.Urgent(t.Context()), time.Second)
				defer cancel()
				err := l.Do(ctx, s.call)
				mu.Lock()
				defer mu.Unlock()
				if !late {
					return
				}
				if came++; err == nil {
					done++
				} else {
					assert.True(t, errors.Is(err, context.DeadlineExceeded), err)
				}
			})
		}
		all.Wait()
		t.Logf("%d of %d calls in time, %d jobs of the batch", done, came, batch)
		assert.Greater(t, float64(done)/float64(came), .9*.75/1.5, "of three quarters of the slots")
		assert.Greater(t, batch, 20*320/5, "a quarter of the slots is the batch's")
	})
}
