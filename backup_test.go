package aimd_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// One attempt in 20 has a backup, and 20 at the start.
func TestTheShareOfBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{MaxWindow: 8, InitialWindow: 8})
		get := aimd.Backup(l, func(ctx context.Context, i int) error {
			work := 10 * time.Millisecond
			if i >= 50 && rand.IntN(2) == 0 {
				work = time.Second
			}
			return worked(ctx, work)
		})
		for i := range 800 { // one after another: slots are free
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return get(ctx, i) }))
		}
		s := l.Snapshot()
		require.InDelta(t, 20+float64(s.Attempts)/20, float64(s.Backups), 1.01)
		require.Contains(t, s.String(), " backups=")
	})
}

// The value is that of the attempt that succeeded first, and the context of the other ends.
func TestBackupValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		var calls, cut atomic.Int32
		get := aimd.BackupValue(l, func(ctx context.Context, item int) (int32, error) {
			n := calls.Add(1)
			work := 100 * time.Millisecond
			if item == 9 && n == 10 {
				work = time.Hour
			}
			err := worked(ctx, work)
			if err != nil {
				cut.Add(1)
			}
			return n, err
		})
		start := time.Now()
		var values []int32
		for r, err := range aimd.Map(t.Context(), l, count(9), get) {
			require.NoError(t, err)
			values = append(values, r.Value)
		}
		require.Len(t, values, 9)
		for r, err := range aimd.Map(t.Context(), l, slices.Values([]int{9}), get) {
			require.NoError(t, err)
			require.EqualValues(t, 11, r.Value, "of the backup")
		}
		synctest.Wait()
		require.EqualValues(t, 1, cut.Load())
		took := time.Since(start) - 200*time.Millisecond
		require.InDelta(t, 300*time.Millisecond, took, float64(20*time.Millisecond), "the backup begins after three means")
		s := l.Snapshot()
		require.EqualValues(t, 1, s.Backups)
		require.EqualValues(t, 11, s.Successes, "the item and its backup")
	})
}

// warm returns a limiter with n slots, and a function with a mean of 100 ms that then does what next does, first and second.
func warm(t *testing.T, config aimd.Config, next func(ctx context.Context, second bool) error) (l *aimd.Limiter, run func() error) {
	l = attempttest.Limiter(t, config)
	warm := true
	var calls atomic.Int32
	fn := aimd.Backup(l, func(ctx context.Context, _ struct{}) error {
		if warm {
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		return next(ctx, calls.Add(1) == 2)
	})
	run = func() error {
		return l.Do(t.Context(), func(ctx context.Context) error { return fn(ctx, struct{}{}) })
	}
	require.NoError(t, run())
	warm = false
	return l, run
}

func TestEndsOfABackup(t *testing.T) {
	boom, gone := errors.New("boom"), errors.New("gone")
	slow := func(ctx context.Context) error { return worked(ctx, time.Second) }
	for name, c := range map[string]struct {
		config aimd.Config
		next   func(ctx context.Context, second bool) error
		want   error
		took   time.Duration // 0: any
		// backups, and the outcomes beside the first success.
		backups, successes, overloads, neutrals uint64
	}{
		"the first is sooner, and the backup does not heed it": {next: func(_ context.Context, second bool) error {
			if second {
				time.Sleep(500 * time.Millisecond)
			}
			time.Sleep(500 * time.Millisecond)
			return nil
		}, took: 500 * time.Millisecond, backups: 1, successes: 1, neutrals: 1},
		"the backup is refused": {next: func(ctx context.Context, second bool) error {
			if second {
				return refusal(503)
			}
			return slow(ctx)
		}, took: time.Second, backups: 1, successes: 1, overloads: 1},
		"the backup panics": {next: func(ctx context.Context, second bool) error {
			if second {
				panic(boom)
			}
			return slow(ctx)
		}, took: time.Second, backups: 1, successes: 1, neutrals: 1},
		"the first fails": {next: func(ctx context.Context, second bool) error {
			if second {
				return slow(ctx)
			}
			time.Sleep(500 * time.Millisecond)
			return gone
		}, want: gone, backups: 1, neutrals: 2},
		"the first exits": {next: func(context.Context, bool) error { runtime.Goexit(); return nil }, want: errors.ErrUnsupported, neutrals: 1},
		"no slot is free": {config: aimd.Config{MaxWindow: 1}, next: func(ctx context.Context, _ bool) error { return slow(ctx) },
			took: time.Second, successes: 1},
		"a guard": {config: aimd.Config{Guards: []attempt.Guard{&guard{}}}, next: func(ctx context.Context, _ bool) error { return slow(ctx) },
			took: time.Second, successes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, run := warm(t, c.config, c.next)
				defer time.Sleep(time.Second) // for who does not heed
				start := time.Now()
				err := run()
				switch {
				case c.want == errors.ErrUnsupported:
					require.ErrorContains(t, err, "runtime.Goexit")
				case c.want != nil:
					require.ErrorIs(t, err, c.want)
				default:
					require.NoError(t, err)
				}
				if c.took > 0 {
					require.Equal(t, c.took, time.Since(start))
				}
				synctest.Wait()
				s := l.Snapshot()
				require.Zero(t, s.InFlight)
				require.Equal(t, []uint64{c.backups, c.successes + 1, c.overloads, c.neutrals}, []uint64{s.Backups, s.Successes, s.Overloads, s.Neutrals})
			})
		})
	}
}

// A panic of the first attempt is one of the caller's, with the stack of fn, and Each adds nothing to it.
func TestAPanicBeforeTheBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		l, run := warm(t, aimd.Config{}, func(context.Context, bool) error { panic(boom) })
		thrown := func(fn func()) (err error) {
			defer func() { err, _ = recover().(error) }()
			fn()
			return nil
		}
		err := thrown(func() { _ = run() })
		require.ErrorIs(t, err, boom)
		require.Contains(t, err.Error(), "TestAPanicBeforeTheBackup")
		fn := aimd.Backup(l, func(context.Context, int) error { panic(boom) })
		err = thrown(func() { _ = aimd.Each(t.Context(), l, count(1), fn) })
		require.ErrorIs(t, err, boom)
		require.Regexp(t, "^aimd: panic on another goroutine: boom\n", err.Error())
		require.Zero(t, l.Snapshot().InFlight)
	})
}

// Without a slot of the limiter it is the function.
func TestBackupOutsideOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		fn := aimd.Backup(l, func(context.Context, int) error { time.Sleep(time.Minute); return refusal(404) })
		require.ErrorIs(t, fn(t.Context(), 1), refusal(404))
		require.Zero(t, l.Snapshot().Attempts)
	})
}

// The mean is of 256 answers, of which none counts for more than three means.
func TestTheMeanOfABackup(t *testing.T) {
	took, in := aimd.NewClipped()
	require.Equal(t, time.Millisecond, in(0))
	require.Equal(t, 10*time.Second, in(160*time.Second), "a 16th of the age, without a mean")
	for range 256 {
		took(100 * time.Millisecond)
	}
	require.Equal(t, 300*time.Millisecond, in(0))
	require.Equal(t, 16*time.Second/16, in(16*time.Second))
	took(time.Hour)
	require.Equal(t, 3*(100*time.Millisecond+200*time.Millisecond/256), in(0))
}
