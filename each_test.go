package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
)

func count(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestEachReportsEveryItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4)
		bad := errors.New("bad item")
		var ok, failed []int
		for i, err := range aimd.Items(t.Context(), l, count(100), func(_ context.Context, i int) error {
			time.Sleep(time.Second)
			switch {
			case i%10 == 7:
				return bad
			case i%25 == 0 && l.Snapshot().Overloads < 4:
				return status{code: 503}
			}
			return nil
		}) {
			if err != nil {
				require.ErrorIs(t, err, bad)
				failed = append(failed, i)
			} else {
				ok = append(ok, i)
			}
		}
		require.Equal(t, []int{7, 17, 27, 37, 47, 57, 67, 77, 87, 97}, slices.Sorted(slices.Values(failed)))
		require.Equal(t, slices.Collect(count(100)), slices.Sorted(slices.Values(append(ok, failed...))))
		require.EqualValues(t, 4, l.Snapshot().Overloads)
		require.Zero(t, l.Snapshot().InFlight)
	})
}

// Items are pulled only as the window admits, so that a million items cost the memory of a window.
func TestEachPullsAsTheWindowAdmits(t *testing.T) {
	for name, fn := range map[string]func(*aimd.Limiter) error{
		"all succeed": func(*aimd.Limiter) error { return nil },
		"many wait out a Retry-After": func(l *aimd.Limiter) error {
			if s := l.Snapshot(); s.Overloads < s.Successes {
				return status{code: 503, after: time.Minute}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, 4, func(c *aimd.Config) { c.MaxWindow = 32 })
				most := 0
				var pulled, yielded atomic.Int64
				items := func(yield func(int) bool) {
					for i := range 2000 {
						most = max(most, int(pulled.Inc()-yielded.Load()))
						if !yield(i) {
							return
						}
					}
				}
				for _, err := range aimd.Items(t.Context(), l, items, func(context.Context, int) error {
					time.Sleep(100 * time.Millisecond)
					return fn(l)
				}) {
					require.NoError(t, err)
					yielded.Inc()
				}
				require.EqualValues(t, 2000, yielded.Load())
				require.LessOrEqual(t, most, 2*32+2+1)
			})
		})
	}
}

func TestEachStopsWhenTheLoopIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4)
		var running atomic.Int64
		for i := range aimd.Items(t.Context(), l, count(1000), func(ctx context.Context, i int) error {
			running.Inc()
			defer running.Dec()
			if i == 2 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}) {
			require.Equal(t, 2, i)
			break
		}
		require.Zero(t, running.Load(), "nothing outlives the loop")
		require.Zero(t, l.Snapshot().InFlight)
	})
}

func TestEachStopsWhenTheLoopPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4)
		require.PanicsWithValue(t, "mine", func() {
			for range aimd.Items(t.Context(), l, count(1000), func(context.Context, int) error { return nil }) {
				panic("mine")
			}
		})
		require.Zero(t, l.Snapshot().InFlight)
	})
}

func TestEachWithAContextThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var ok, ended int
		for _, err := range aimd.Items(ctx, l, count(1000), func(ctx context.Context, _ int) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}) {
			if err == nil {
				ok++
				continue
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			ended++
		}
		require.Equal(t, 2, ok)
		require.GreaterOrEqual(t, ended, 3, "those in flight and the one that waited")
		require.Zero(t, l.Snapshot().InFlight)
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range aimd.Items(ctx, newLimiter(t, 2), count(3), func(context.Context, int) error { return nil }) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestEachWithALimiterThatIsClosed(t *testing.T) {
	l := newLimiter(t, 2)
	l.Close()
	var got []string
	for i, err := range aimd.Items(t.Context(), l, count(1000), func(context.Context, int) error { return nil }) {
		got = append(got, fmt.Sprint(i, err))
	}
	require.Equal(t, []string{"0 gave up before the first attempt: aimd: closed"}, got)
}

// An iterator or a function that panics: nothing lost, nothing hangs.
func TestEachGoesOnWithAPanic(t *testing.T) {
	boom := errors.New("boom")
	bomb := func(yield func(int) bool) {
		for i := range 10 {
			if i == 5 {
				panic(boom)
			}
			if !yield(i) {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		items iter.Seq[int]
		fn    func(context.Context, int) error
		least int
	}{
		"iterator": {bomb, func(context.Context, int) error { return nil }, 5},
		"function": {count(1000), func(_ context.Context, i int) error {
			if i == 5 {
				panic(boom)
			}
			return nil
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, 2)
				var got []int
				func() {
					defer func() {
						p, ok := recover().(error)
						require.True(t, ok)
						require.ErrorIs(t, p, boom)
						require.Contains(t, p.Error(), "each_test.go", "where it happened")
					}()
					for i, err := range aimd.Items(t.Context(), l, c.items, c.fn) {
						require.NoError(t, err)
						got = append(got, i)
					}
					t.Error("the panic goes on")
				}()
				require.GreaterOrEqual(t, len(got), c.least, "what ran is reported")
				require.Zero(t, l.Snapshot().InFlight)
			})
		})
	}
}

func TestEachReportsAFunctionThatExitsItsGoroutine(t *testing.T) {
	l := newLimiter(t, 2)
	n := 0
	for _, err := range aimd.Items(t.Context(), l, count(3), func(context.Context, int) error { runtime.Goexit(); return nil }) {
		require.ErrorContains(t, err, "runtime.Goexit")
		n++
	}
	require.Equal(t, 3, n)
	require.Zero(t, l.Snapshot().InFlight)
}

func TestEachOfNothing(t *testing.T) {
	for range aimd.Items(t.Context(), newLimiter(t, 2), count(0), func(context.Context, int) error { return nil }) {
		t.Error("there is none")
	}
}

// "the number of those that failed and the first 20 errors"
func TestEachReturnsTheNumberAndTheFirstFailures(t *testing.T) {
	l := newLimiter(t, 4)
	odd := errors.New("odd")
	fail := func(_ context.Context, i int) error {
		if i%2 == 1 {
			return odd
		}
		return nil
	}
	require.NoError(t, aimd.Each(t.Context(), l, count(1), fail))
	err := aimd.Each(t.Context(), l, count(100), fail)
	require.ErrorIs(t, err, odd)
	lines := strings.Split(err.Error(), "\n")
	require.Equal(t, "50 of 100 items failed", lines[0])
	require.Len(t, lines, 21)
	require.Regexp(t, `^\d{1,2}: failed after 1 attempt: odd$`, lines[20])
}

// "When ctx ends ... it pulls no more items. Then the error is also ctx.Err()"
func TestEachTellsOfItemsThatAreLeft(t *testing.T) {
	l := newLimiter(t, 1, func(c *aimd.Config) { c.MaxWindow = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	err := aimd.Each(ctx, l, count(1000), func(context.Context, int) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, err.Error(), "others were not begun: context canceled")
	require.NoError(t, l.Close())
	require.ErrorIs(t, aimd.Each(t.Context(), l, count(1000), func(context.Context, int) error { return nil }), aimd.ErrClosed)

	l = newLimiter(t, 1, func(c *aimd.Config) { c.MaxWindow = 1 })
	err = aimd.Each(t.Context(), l, count(1000), func(_ context.Context, i int) error {
		if i == 30 {
			require.NoError(t, l.Close())
		}
		return errors.New("more failures than are kept")
	})
	require.ErrorIs(t, err, aimd.ErrClosed)
	require.Contains(t, err.Error(), "others were not begun: aimd: closed")
}
