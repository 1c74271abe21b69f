package limiter_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// brittle is a guard that runs these, if it has them.
type brittle struct{ admit, ended func() }

func (b brittle) Admit(context.Context, int) error {
	if b.admit != nil {
		b.admit()
	}
	return nil
}

func (b brittle) Ended(context.Context, window.Outcome) {
	if b.ended != nil {
		b.ended()
	}
}

func boom() { panic("boom") }

func nothing(context.Context) error { return nil }

// Each Admit that returned nil is followed by exactly one Ended, whatever
// happens: also if a guard beside it panics.
func TestAGuardThatPanicsKeepsNothingFromTheOthers(t *testing.T) {
	for name, b := range map[string]brittle{"Admit": {admit: boom}, "Ended": {ended: boom}} {
		var before, after warden
		l := newLimiter(t, 2, guarded(&before, b, &after))
		require.Panics(t, func() { _ = l.Do(t.Context(), nothing) })
		assert.Zero(t, before.open, name)
		assert.Zero(t, after.open, name)
		assert.Zero(t, l.Snapshot().InFlight, name)
	}
}

// It runs on the goroutine that pulls the items, and nobody may wait for that for ever.
func TestEachGoesOnWithAGuardThatExitsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, guarded(brittle{admit: runtime.Goexit}))
		require.Panics(t, func() {
			for range aimd.Each(t.Context(), l, count(9), func(context.Context, int) error { return nil }) {
				t.Error("nothing runs")
			}
		})
	})
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

// Functions and guards that panic or exit, contexts that end, a limiter
// that is changed meanwhile: in the end every slot is free and every guard has
// heard of every attempt.
func TestNothingLeaksWhateverPanics(t *testing.T) {
	sometimes := func(one int, what func()) {
		if rand.IntN(one) == 0 {
			what()
		}
	}
	var before, after warden
	between := brittle{func() { sometimes(40, boom) }, func() { sometimes(40, boom) }}
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
	require.Zero(t, before.open)
	require.Zero(t, after.open)
}
