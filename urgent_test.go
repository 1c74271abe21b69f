package aimd_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// turns are the turns of a limiter that are taken one after another, each of a second.
func turns(t *testing.T, l *aimd.Limiter, came func(do func(ctx context.Context, name string))) (order []string) {
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
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
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 1, MaxWindow: 1})
		require.NoError(t, err)
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
		l, err := aimd.New(aimd.Config{MaxRate: 10})
		require.NoError(t, err)
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
		l, err := aimd.New(aimd.Config{MaxWindow: 1, QueueBound: 2})
		require.NoError(t, err)
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
		l, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
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
