package limiter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

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

func guarded(guards ...attempt.Guard) func(*limiter.Config) {
	return func(c *limiter.Config) { c.Guards = guards }
}

func boom() { panic("boom") }

func TestGuardsOfEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := &guard{refuse: func() error {
			if n++; n%3 == 0 {
				return errors.New("refused by a guard")
			}
			return nil
		}}
		l := newLimiter(t, 4, guarded(w))
		ok, refused := 0, 0
		for _, err := range aimd.Each(t.Context(), l, count(90), func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}) {
			if err == nil {
				ok++
				continue
			}
			require.EqualError(t, err, "gave up before the first attempt: refused by a guard")
			refused++
		}
		require.Equal(t, 60, ok)
		require.Equal(t, 30, refused, "what is refused is the end of that item alone")
		require.Zero(t, w.open.Load())
		require.Zero(t, l.Snapshot().InFlight)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		over := 0
		for _, err := range aimd.Each(ctx, l, count(90), func(context.Context, int) error { return nil }) {
			require.ErrorIs(t, err, context.Canceled)
			over++
		}
		require.Equal(t, 1, over, "what was pulled is yielded")
		require.Zero(t, w.open.Load())
	})
}

// A guard runs on the goroutine that pulls the items, and nobody may wait for that for ever.
func TestEachEndsWithItsGuard(t *testing.T) {
	for _, bang := range []func(){boom, runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, 2, guarded(&guard{refuse: func() error { bang(); return nil }}))
			require.Panics(t, func() {
				for range aimd.Each(t.Context(), l, count(9), func(context.Context, int) error { return nil }) {
					t.Error("nothing runs")
				}
			})
		})
	}
}

// Items that were not pulled must not look like items that there are not.
func TestEachTellsOfItemsThatExitTheirGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		items := func(yield func(int) bool) {
			yield(1)
			runtime.Goexit()
		}
		defer func() {
			p, ok := recover().(error)
			require.True(t, ok)
			require.ErrorContains(t, p, "runtime.Goexit")
			require.Equal(t, []int{1}, got)
		}()
		for i := range aimd.Each(t.Context(), newLimiter(t, 2), items, func(context.Context, int) error { return nil }) {
			got = append(got, i)
		}
	})
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

// Functions and guards that panic or exit, contexts that end, a limiter that is changed meanwhile: in the
// end every slot is free and every guard has heard of every attempt.
func TestNothingLeaksWhateverPanics(t *testing.T) {
	sometimes := func(one int, what func()) {
		if rand.IntN(one) == 0 {
			what()
		}
	}
	var before, after guard
	between := &guard{refuse: func() error { sometimes(40, boom); return nil }, ended: func() { sometimes(40, boom) }}
	l := newLimiter(t, 4, guarded(&before, between, &after), func(c *limiter.Config) {
		c.PauseMax = -1
		c.MaxAttempts = 5
	})
	fn := func(ctx context.Context) error {
		switch rand.IntN(8) {
		case 0:
			boom()
		case 1:
			runtime.Goexit()
		case 2, 3:
			return status{code: 503}
		case 4:
			<-ctx.Done()
		}
		return ctx.Err()
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				safely(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(1000))*time.Microsecond)
					defer cancel()
					_ = l.Do(ctx, fn)
				})
			}
		})
	}
	for range 50 {
		safely(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			for range aimd.Each(ctx, l, count(20), func(ctx context.Context, _ int) error { return fn(ctx) }) {
			}
		})
		safely(func() {
			_ = l.Reconfigure(limiter.Rules{MaxWindow: 1 + float64(rand.IntN(8))})
		})
	}
	all.Wait()
	require.Zero(t, l.Snapshot().InFlight)
	require.Zero(t, l.Snapshot().Queued)
	require.Zero(t, before.open.Load())
	require.Zero(t, after.open.Load())
}
