package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// A classifier that panics kept the slot of its permit for ever.
func TestAPermitIsReleasedIfTheClassifierPanics(t *testing.T) {
	l := attempttest.Limiter(t, aimd.Config{Classifier: func(error) verdict.Verdict { panic("classifier") }})
	p := acquire(t, l, 1)[0]
	require.PanicsWithValue(t, "classifier", func() { p.End(errors.New("no")) })
	s := l.Snapshot()
	require.Zero(t, s.InFlight)
	require.EqualValues(t, 1, s.Neutrals)
	p.Done(window.Success)
	require.EqualValues(t, 1, l.Snapshot().Late)
}

// A State from the future counted as new: after a clock was set back, its age is not known.
func TestAStateOfTheFutureHasNoEffect(t *testing.T) {
	for ahead, want := range map[time.Duration]float64{59 * time.Minute: 7, 61 * time.Minute: 20, 1000 * time.Hour: 20} {
		l := attempttest.Limiter(t, aimd.Config{})
		require.NoError(t, l.Restore(window.State{Cwnd: 7}, time.Now().Add(ahead)))
		require.InDelta(t, want, l.Snapshot().Cwnd, 0, "%v", ahead)
	}
}

// What a law does at a success of an attempt above its window, in shadow, had the cause of a refusal that it never heard.
func TestInShadowOnlyARefusalIsAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []string
		l := watching(t, func(c *aimd.Config) { c.Observer = func(e aimd.Event) { causes = append(causes, e.Cause) } })
		all := acquire(t, l, 4)
		causes = nil
		all[2].Done(window.Success)
		all[3].Done(window.Overload)
		require.Equal(t, []string{"", "above"}, causes)
		all[0].Done(window.Success)
		all[1].Done(window.Success)
	})
}

// A panic in the function of Reconfigure changes nothing, and the next call works.
func TestAPanicInReconfigureChangesNothing(t *testing.T) {
	l := attempttest.Limiter(t, aimd.Config{})
	before := l.Snapshot().Config
	require.Panics(t, func() {
		_ = l.Reconfigure(func(c *aimd.Config) {
			c.MaxWindow = 3
			panic("no")
		})
	})
	require.Equal(t, before, l.Snapshot().Config)
	require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxWindow = 64 }))
	require.InDelta(t, 64, l.Snapshot().Config.MaxWindow, 0)
}

// A pause that was over turned operations away, if the law needs no clock: "paused until" a time that has passed.
func TestAPauseThatIsOverTurnsNoOperationAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, func(c *aimd.Config) { c.MaxWait = time.Minute })
		time.Sleep(time.Hour)
		refuseBursts(t, l, 2) // the second cut in a row begins a pause
		require.NotZero(t, l.Snapshot().Pauses)
		time.Sleep(time.Hour)
		p, waits := acquire(t, l, 1)[0], make(chan got, 1)
		queueUp(t.Context(), "", l.Acquire, waits)
		require.Equal(t, 1, l.Snapshot().Queued)
		p.Done(window.Success)
		require.NoError(t, (<-waits).err)
	})
}

// A MaxWait that was lowered held only for operations that came later: those that waited for a pause waited on.
func TestALowerMaxWaitHoldsForWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2)
		refuseBursts(t, l, 2) // the second cut in a row begins a pause
		waits := make(chan got, 1)
		queueUp(t.Context(), "", l.Acquire, waits)
		require.Equal(t, 1, l.Snapshot().Queued)
		require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxWait = time.Millisecond }))
		synctest.Wait()
		require.Zero(t, l.Snapshot().Queued)
		require.ErrorIs(t, (<-waits).err, aimd.ErrWait)
	})
}

// waiting begins operations in this order, which note how they end, in text, and after what time.
func waiting(t *testing.T, l *aimd.Limiter, all ...float64) (ends []string, wait func()) {
	t.Helper()
	ends = make([]string, len(all))
	var group sync.WaitGroup
	start := time.Now()
	for i, amount := range all {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			p, err := l.Acquire(aimd.WithAmount(ctx, amount))
			p.Done(window.Success)
			ends[i] = fmt.Sprint(time.Since(start).Round(time.Second), " ", err)
		})
		synctest.Wait()
	}
	return ends, group.Wait
}

// An operation whose amount is above a limit that the service reported while it waited was sent nevertheless, after
// the reset, and those behind it waited too. One that waits for more than is left of a window waited for its deadline,
// as if the quota were not used up: it went by the mean request.
func TestAnOperationThatWaitsForMoreThanAQuotaHas(t *testing.T) {
	for _, c := range []struct {
		limit float64
		wait  []float64
		want  []string
	}{
		{4000, []float64{5000, 100, 4001, 200}, []string{
			"0s aimd: amount: 5000 is not allowed, want at most 4000, the service's limit of tokens", "0s <nil>",
			"0s aimd: amount: 4001 is not allowed, want at most 4000, the service's limit of tokens", "0s <nil>",
		}},
		{10_000, []float64{5000, 100, 5000, 200}, []string{
			"0s paused until 00:01:00: the service's quota is used up, 2000 of 10000 tokens left for an operation of 5000", "0s <nil>",
			"0s paused until 00:01:00: the service's quota is used up, 2000 of 10000 tokens left for an operation of 5000", "0s <nil>",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, 20)
			a, err := l.Begin(aimd.WithAmount(t.Context(), 1000))
			require.NoError(t, err)
			tokens := answer.Quota{Name: "tokens", Amounts: true, Limit: 20_000, Left: 0, Reset: 30*time.Second + 1}
			a.Head(nil, tokens)
			ends, wait := waiting(t, l, c.wait...)
			require.Equal(t, len(c.wait), l.Snapshot().Queued)
			tokens.Limit, tokens.Left, tokens.Reset = c.limit, 2000, time.Minute+1
			a.Head(nil, tokens)
			a.End(nil)
			wait()
			require.Equal(t, c.want, ends)
		})
	}
}

// Each item of Each costs the amount of their one context, unless attempt.Used says another within the function. WithAmount
// within it was the only way that a user found, and it does nothing.
func TestTheAmountsOfItems(t *testing.T) {
	for _, c := range []struct {
		said, used, within float64
		want               time.Duration
	}{
		{used: 100, want: 5 * time.Second}, {within: 100, want: 50 * time.Millisecond},
		{said: 100, want: 5 * time.Second}, {said: 100, used: 300, want: 15 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := attempttest.Limiter(t, aimd.Config{MaxAmountRate: 100})
			start := time.Now()
			require.NoError(t, aimd.Each(aimd.WithAmount(t.Context(), c.said), l, count(5), func(ctx context.Context, _ int) error {
				if c.used > 0 {
					attempt.Used(ctx, c.used)
				}
				return l.Do(aimd.WithAmount(ctx, c.within), func(context.Context) error { return nil })
			}))
			attempttest.Acquire(t, l)
			require.InDelta(t, c.want, time.Since(start), 10)
		})
	}
}

// A whole bucket that answers without a report then used up had no rate, so it was awaited for a day: operations with a
// deadline failed at once, although the bucket says that it is whole after 10 s.
func TestABucketThatWasWholeIsNotAwaitedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		spend := func(reports ...answer.Quota) {
			a, err := l.Begin(aimd.WithAmount(t.Context(), 100))
			require.NoError(t, err)
			time.Sleep(time.Second)
			a.Head(nil, reports...)
			a.End(nil)
		}
		spend(answer.Quota{Name: "tokens", Limit: 100, Left: 100, Reset: 10 * time.Second, Bucket: true, Amounts: true})
		spend()
		ctx, cancel := context.WithTimeout(aimd.WithAmount(t.Context(), 100), time.Minute)
		defer cancel()
		start := time.Now()
		p, err := l.Acquire(ctx)
		require.NoError(t, err)
		p.Done(window.Success)
		require.InDelta(t, 10*time.Second, time.Since(start), float64(2*time.Second))
	})
}

// A Limiter that New has not made admitted one attempt at a time, or ran Do without any limit.
func TestALimiterThatNewHasNotMadePanics(t *testing.T) {
	ctx, none := t.Context(), func(context.Context) error { return nil }
	for name, use := range map[string]func(l *aimd.Limiter){
		"Acquire":     func(l *aimd.Limiter) { _, _ = l.Acquire(ctx) },
		"TryAcquire":  func(l *aimd.Limiter) { l.TryAcquire() },
		"Do":          func(l *aimd.Limiter) { _ = l.Do(ctx, none) },
		"Begin":       func(l *aimd.Limiter) { _, _ = l.Begin(ctx) },
		"Snapshot":    func(l *aimd.Limiter) { l.Snapshot() },
		"Restore":     func(l *aimd.Limiter) { _ = l.Restore(window.State{}, time.Time{}) },
		"Reconfigure": func(l *aimd.Limiter) { _ = l.Reconfigure(func(*aimd.Config) {}) },
		"Close":       func(l *aimd.Limiter) { _ = l.Close() },
		"Shutdown":    func(l *aimd.Limiter) { _ = l.Shutdown(ctx) },
		"Each": func(l *aimd.Limiter) {
			_ = aimd.Each(ctx, l, slices.Values([]int{1}), func(context.Context, int) error { return nil })
		},
	} {
		for _, l := range []*aimd.Limiter{nil, {}} {
			require.PanicsWithValue(t, "aimd: a Limiter that New has not made is not allowed, want the limiter of aimd.New",
				func() { use(l) }, name)
		}
	}
}

// A full Keyed evicted a limiter in a pause before others: the next limiter of its key sent at once into the refusals.
func TestALimiterInAPauseIsEvictedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyed, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) {
			return aimd.New(aimd.Config{Classifier: func(error) verdict.Verdict {
				return verdict.Verdict{Meaning: answer.Stopped, Wait: time.Hour}
			}})
		}, aimd.KeyedConfig{Keys: 2, Idle: time.Minute})
		require.NoError(t, err)
		k := keyedHelper{keyed}
		stop := func(l *aimd.Limiter) {
			p := attempttest.Acquire(t, l)
			p.End(errors.New("stop"))
			require.NotZero(t, l.Snapshot().PausedUntil)
		}
		a := k.get(t, "a")
		stop(a)
		k.get(t, "b")
		k.get(t, "c")
		require.Same(t, a, k.get(t, "a"), "b is evicted")
		time.Sleep(2 * time.Minute)
		c := k.get(t, "c")
		require.Same(t, a, k.get(t, "a"), "Idle does not end a pause")
		stop(c)
		k.get(t, "d")
		require.ElementsMatch(t, []string{"d", "a"}, k.keys(), "all are in a pause: the idlest, c, goes")
		time.Sleep(2 * time.Hour)
		k.get(t, "e")
		require.Equal(t, []string{"e"}, k.keys(), "no pause lasts for ever")
	})
}

// Tahoe took a window of 20 for its initial one, whatever that of the limiter: the first cut raised a window of 5.
func TestTahoeRestartsAtTheInitialWindow(t *testing.T) {
	l := attempttest.Limiter(t, aimd.Config{InitialWindow: 5, Law: aimd.Tahoe(0.5, 0)})
	acquire(t, l, 1)[0].Done(window.Overload)
	require.EqualValues(t, 5, l.Snapshot().Cwnd)
	require.EqualValues(t, 2.5, l.Snapshot().Ssthresh)
}

// Snapshot.Cuts counted the first refusal of each burst, which may be chance. It counts what narrowed the window, and a burst
// once.
func TestOnlyWhatNarrowsTheWindowIsACut(t *testing.T) {
	l := attempttest.Limiter(t, aimd.Config{InitialWindow: 40})
	for n, p := range acquire(t, l, 40) {
		p.Done(window.Overload)
		require.EqualValues(t, min(1, max(0, n-21)), l.Snapshot().Cuts, "%d refused", n+1)
	}
	require.Less(t, l.Snapshot().Cwnd, 40.)
}
