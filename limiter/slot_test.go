package limiter_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// ways are the ways to begin something within an attempt of the same limiter.
var ways = map[string]func(context.Context, *limiter.Limiter, func(context.Context) error) error{
	"Do": func(ctx context.Context, l *limiter.Limiter, fn func(context.Context) error) error {
		return l.Do(ctx, fn)
	},
	"Each": func(ctx context.Context, l *limiter.Limiter, fn func(context.Context) error) error {
		for _, err := range aimd.Each(ctx, l, count(3), func(ctx context.Context, _ int) error { return fn(ctx) }) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Begin": func(ctx context.Context, l *limiter.Limiter, fn func(context.Context) error) error {
		a, err := l.Begin(ctx)
		if err != nil {
			return err
		}
		defer a.Drop()
		err = fn(a.Context())
		a.End(err)
		return err
	},
}

// A second slot with the first in hand could be waited for for ever.
func TestAcquireWithinAnAttemptIsAnError(t *testing.T) {
	for name, way := range ways {
		l := newLimiter(t, 2)
		require.NoError(t, way(t.Context(), l, func(ctx context.Context) error {
			p, err := l.Acquire(ctx)
			require.Equal(t, limiter.ErrHasSlot, err, name)
			require.Equal(t, limiter.ErrReleased, p.Done(window.Success))
			_, err = newLimiter(t, 1).Acquire(ctx)
			require.NoError(t, err, "another limiter has slots of its own")
			return nil
		}))
		require.Zero(t, l.Snapshot().InFlight)
	}
}

// Whoever holds a slot does not wait for another: 64 workers on 2 slots come to their end, each of them
// with one slot, whatever is within what.
func TestNoWayWithinAnotherWaitsForASlot(t *testing.T) {
	for outer, out := range ways {
		for inner, in := range ways {
			t.Run(inner+" within "+outer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLimiter(t, 2, func(c *limiter.Config) { c.MaxWindow = 2 })
					var running, most, calls atomic.Int64
					var all sync.WaitGroup
					for range 64 {
						all.Go(func() {
							assert.NoError(t, out(t.Context(), l, func(ctx context.Context) error {
								return in(ctx, l, func(ctx context.Context) error {
									assert.True(t, l.HasSlot(ctx))
									calls.Inc()
									most.Store(max(most.Load(), running.Inc()))
									time.Sleep(time.Second)
									running.Dec()
									return nil
								})
							}))
						})
					}
					all.Wait()
					require.GreaterOrEqual(t, calls.Load(), int64(64))
					require.EqualValues(t, 2, most.Load(), "the items of an Each under a slot are done one at a time")
					s := l.Snapshot()
					require.Zero(t, s.InFlight)
					require.Zero(t, s.Late)
				})
			})
		}
	}
}

// What fn left running has no slot any more, and waits for its own.
func TestWhatOutlivesItsAttemptWaitsForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1, func(c *limiter.Config) { c.MaxWindow = 1 })
		within := make(chan error, 1)
		var outlived context.Context
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { outlived = ctx; return nil }))
		p := acquire(t, l, 1)[0]
		go func() { within <- l.Do(outlived, func(context.Context) error { return nil }) }()
		synctest.Wait()
		require.Equal(t, 1, l.Snapshot().Queued)
		require.NoError(t, p.Done(window.Success))
		require.NoError(t, <-within)
	})
}

// docs/design.md, rule 9: "a job whose answers are all 404 is as fast as a job of successes".
func TestAJobOfFinalAnswersIsAsFastAsOneOfSuccesses(t *testing.T) {
	job := func(answer error) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			l, start := newLimiter(t, 20), time.Now()
			var sent atomic.Int64
			for _, err := range aimd.Each(t.Context(), l, count(6400), func(context.Context, int) error {
				time.Sleep(20 * time.Millisecond)
				if sent.Inc()%100 == 0 {
					return status{code: 503}
				}
				return answer
			}) {
				require.Equal(t, answer != nil, err != nil)
			}
			took = time.Since(start)
		})
		return took
	}
	require.InEpsilon(t, job(nil), job(status{code: 404}), 0.25) // a 404 that widens no window takes 20 times as long
}
