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
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/window"
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

func succeed(context.Context, int) error { return nil }

func TestEachReportsEveryItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64 // attempts of several items are admitted at a time
		w := &guard{refuse: func() error {
			if n.Inc()%10 == 3 {
				return errors.New("refused by a guard")
			}
			return nil
		}}
		l := newLimiter(t, 4, guarded(w))
		bad := errors.New("bad item")
		var items []int
		results := map[string]int{}
		for i, err := range aimd.Items(t.Context(), l, count(100), func(_ context.Context, i int) error {
			time.Sleep(time.Second)
			switch {
			case i%10 == 7:
				return bad
			case i%25 == 0 && l.Snapshot().Overloads < 4:
				return status{HTTP: 503}
			}
			return nil
		}) {
			items = append(items, i)
			results[fmt.Sprint(err)]++
		}
		require.Equal(t, slices.Collect(count(100)), slices.Sorted(slices.Values(items)))
		require.Equal(t, 10, results["failed after 1 attempt: bad item"])
		require.Positive(t, results["gave up before the first attempt: refused by a guard"], "the end of that item alone")
		require.EqualValues(t, 4, l.Snapshot().Overloads)
		require.Zero(t, l.Snapshot().InFlight)
		require.Zero(t, w.open.Load())
	})
}

// Items are pulled only as the window admits, so that a million items cost the memory of a window.
func TestEachPullsAsTheWindowAdmits(t *testing.T) {
	for name, fn := range map[string]func(*aimd.Limiter) error{
		"all succeed": func(*aimd.Limiter) error { return nil },
		"many wait out a Retry-After": func(l *aimd.Limiter) error {
			if s := l.Snapshot(); s.Overloads < s.Successes {
				return status{HTTP: 503, After: time.Minute}
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
					for i := range count(2000) {
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

var errBoom = errors.New("boom")

// However a loop ends, nothing outlives it: no goroutine, no slot, no attempt that a guard has not heard the end of.
// Items that were not pulled must not look like items that there are not: then the loop panics, or an item has the
// error.
func TestHowALoopEnds(t *testing.T) {
	panics, exits := func() { panic(errBoom) }, runtime.Goexit
	atThird := func(what func()) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i := range count(2) {
				if !yield(i) {
					return
				}
			}
			what()
		}
	}
	fifth := func(what func()) func(context.Context, int) error {
		return func(_ context.Context, i int) error {
			if i == 5 {
				what()
			}
			return nil
		}
	}
	waits := func(ctx context.Context, i int) error {
		if i == 0 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for name, c := range map[string]struct {
		items iter.Seq[int]
		fn    func(context.Context, int) error
		guard func()
		// loop is what the body of the loop does.
		loop func() (leave bool)
		// within is the time of ctx, 0 for no end.
		within time.Duration
		close  bool
		panic  string
		// oks is the least number of items without an error, last the error of the last with one, "" if none has.
		oks  int
		last string
	}{
		"no items":           {items: count(0)},
		"it is left":         {fn: waits, loop: func() bool { return true }, oks: 1},
		"it panics":          {loop: func() bool { panic(errBoom) }, panic: "boom"},
		"the items panic":    {items: atThird(panics), panic: "panic on another goroutine: boom\n\ngoroutine", oks: 2},
		"the items exit":     {items: atThird(exits), panic: "the function called runtime.Goexit", oks: 2},
		"fn panics":          {fn: fifth(panics), panic: "panic on another goroutine: boom\n\ngoroutine", oks: 5},
		"fn exits":           {items: count(6), fn: fifth(exits), oks: 5, last: "aimd: the function called runtime.Goexit"},
		"a guard panics":     {guard: panics, panic: "panic on another goroutine: boom\n\ngoroutine"},
		"a guard exits":      {guard: exits, panic: "the function called runtime.Goexit"},
		"the limiter closes": {close: true, last: "gave up before the first attempt: aimd: closed"},
		"ctx is over":        {within: -1, last: "gave up before the first attempt: context deadline exceeded"},
		"ctx ends":           {within: time.Second, fn: waits, oks: 1, last: "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &guard{refuse: func() error {
					if c.guard != nil {
						c.guard()
					}
					return nil
				}}
				l := newLimiter(t, 2, guarded(w))
				if c.close {
					require.NoError(t, l.Close())
				}
				ctx, items := t.Context(), c.items
				if c.within != 0 {
					limited, cancel := context.WithTimeout(ctx, c.within)
					defer cancel()
					ctx = limited
				}
				if items == nil {
					items = count(1000)
				}
				var running atomic.Int64
				oks, last, thrown := 0, "", ""
				func() {
					defer func() {
						if p, ok := recover().(error); ok {
							thrown = p.Error()
							require.Equal(t, strings.Contains(thrown, "boom"), errors.Is(p, errBoom))
						}
					}()
					for _, err := range aimd.Items(ctx, l, items, func(ctx context.Context, i int) error {
						running.Inc()
						defer running.Dec()
						if c.fn == nil {
							return nil
						}
						return c.fn(ctx, i)
					}) {
						if err != nil {
							last = err.Error()
						} else {
							oks++
						}
						if c.loop != nil && c.loop() {
							break
						}
					}
				}()
				require.GreaterOrEqual(t, oks, c.oks, "what ran is reported")
				require.Contains(t, last, c.last)
				require.Equal(t, c.last == "", last == "", last)
				require.Contains(t, thrown, c.panic)
				require.Equal(t, c.panic == "", thrown == "", thrown)
				if strings.Contains(thrown, "panic on another goroutine: boom") {
					require.Contains(t, thrown, "each_test.go", "where it happened")
				}
				require.Zero(t, running.Load())
				require.Zero(t, l.Snapshot().InFlight)
				require.Zero(t, w.open.Load())
			})
		})
	}
}

// "the number of failed items and the first 20 errors"
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

	// "It ends early, and pulls no more items, if ctx ends": "Then the error is also ctx.Err()"
	ctx, cancel := context.WithCancel(t.Context())
	err = aimd.Each(ctx, l, count(1000), func(context.Context, int) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, err.Error(), "others were not begun: context canceled")
	require.NoError(t, l.Close())
	require.ErrorIs(t, aimd.Each(t.Context(), l, count(1000), succeed), aimd.ErrClosed)

	l = newLimiter(t, 1, func(c *aimd.Config) { c.MaxWindow = 1 })
	err = aimd.Each(t.Context(), l, count(1000), func(_ context.Context, i int) error {
		if i == 30 {
			require.NoError(t, l.Close())
		}
		return odd // more often than is kept
	})
	require.ErrorIs(t, err, aimd.ErrClosed)
	require.Contains(t, err.Error(), "others were not begun: aimd: closed")

	synctest.Test(t, func(t *testing.T) { // "or the limiter is closed, has a full queue"
		l := newLimiter(t, 1, func(c *aimd.Config) { c.QueueBound = 1 })
		p, to := acquire(t, l, 1)[0], make(chan got, 1)
		queueUp(t.Context(), "before", l.Acquire, to)
		err := aimd.Each(t.Context(), l, count(1000), succeed)
		require.ErrorContains(t, err, "1 of 1 items failed, others were not begun: aimd: queue full")
		p.Done(window.Success)
		(<-to).permit.Done(window.Success)
	})
}

func TestDoReturnsTheValueOfTheAttemptThatSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, calls := newLimiter(t, 4), 0
		v, err := aimd.Do(t.Context(), l, func(context.Context) (int, error) {
			if calls++; calls < 3 {
				return -1, status{HTTP: 503}
			}
			return 42, nil
		})
		require.NoError(t, err)
		require.Equal(t, 42, v)
		v, err = aimd.Do(t.Context(), l, func(context.Context) (int, error) { return 7, errBoom })
		require.ErrorIs(t, err, errBoom)
		require.Zero(t, v, "no value of an attempt that failed")
	})
}

func TestMapYieldsEveryItemWithItsValueOrError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4)
		square := func(_ context.Context, i int) (string, error) {
			time.Sleep(time.Second) // of the bubble's time
			if i%2 == 1 {
				return "none", errBoom
			}
			return fmt.Sprint(i * i), nil
		}
		got := map[int]string{}
		for r, err := range aimd.Map(t.Context(), l, count(6), square) {
			if got[r.Item] = r.Value; err != nil {
				require.ErrorIs(t, err, errBoom)
				require.Empty(t, r.Value)
			}
		}
		require.Equal(t, map[int]string{0: "0", 1: "", 2: "4", 3: "", 4: "16", 5: ""}, got)
		for range aimd.Map(t.Context(), l, count(6), square) {
			break // what still runs is waited for
		}
		require.Zero(t, l.Snapshot().InFlight)
	})
}

// The index of a result is the place of its item, whenever it ended.
func TestTheIndexOfAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		items := []string{"c", "a", "b", "a"}
		took := map[string]time.Duration{"a": 2, "b": 1, "c": 3}
		var order []int
		for r, err := range aimd.Map(t.Context(), l, slices.Values(items), func(_ context.Context, s string) (int, error) {
			time.Sleep(took[s])
			return 0, nil
		}) {
			require.NoError(t, err)
			require.Equal(t, items[r.Index], r.Item)
			order = append(order, r.Index)
		}
		require.Equal(t, 2, order[0], "the shortest")
		require.ElementsMatch(t, []int{0, 1, 2, 3}, order)
	})
}
