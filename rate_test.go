package aimd_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/window"
)

// sends runs that many callers of a service that answers in 100 ms, until that time, and returns the times at
// which they sent.
func sends(l *aimd.Limiter, callers int, until time.Duration) (at []time.Duration) {
	start, mu := time.Now(), sync.Mutex{}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for time.Since(start) < until {
				p, err := l.Acquire(context.Background())
				if err != nil {
					return
				}
				mu.Lock()
				if now := time.Since(start); now < until {
					at = append(at, now)
				}
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				p.Done(window.Success)
			}
		})
	}
	all.Wait()
	slices.Sort(at)
	return at
}

// "the greatest number of attempts of all operations in a second": no second has more, whatever the law.
func TestMaxRate(t *testing.T) {
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe(), "reno": aimd.Reno(0.5), "tahoe": aimd.Tahoe(0.5, 20)} {
		for _, rate := range []int{3, 70, 2000} {
			t.Run(fmt.Sprint(name, " at ", rate), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := attempttest.Limiter(t, aimd.Config{Law: law, MaxRate: float64(rate)})
					require.InDelta(t, time.Second/time.Duration(rate), l.Snapshot().Gap, 1)
					at := sends(l, rate/2+5, 10*time.Second)
					for i := range at[rate:] {
						require.GreaterOrEqual(t, at[i+rate]-at[i], time.Second, "send %d and the %dth after it", i, rate)
					}
					least := 9 // of 10 s
					if name != "probe" && rate > 1000 {
						least = 5 // while sends wait for the gap, the window of the text grows by one a round trip
					}
					require.Greater(t, len(at), rate*least, "it is used")
				})
			})
		}
	}
}

func TestMaxRateMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20, func(c *aimd.Config) { c.MaxRate = 100 })
		for _, rate := range []float64{100, 20, 200} {
			require.NoError(t, l.Reconfigure(exactly(aimd.Config{MaxRate: rate})))
			require.InDelta(t, 10*rate, len(sends(l, 50, 10*time.Second)), 10, "%v a second", rate)
		}
		require.NoError(t, l.Reconfigure(exactly(aimd.Config{})))
		require.Zero(t, l.Snapshot().Gap)
		require.Greater(t, len(sends(l, 50, 10*time.Second)), 4000)
	})
}

// Config.MaxAmountRate: "the longer of 1/MaxRate and amount/MaxAmountRate seconds", in the order of the queue.
func TestMaxAmountRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20, func(c *aimd.Config) { c.MaxRate, c.MaxAmountRate = 10, 1000 })
		start := time.Now()
		for _, c := range []struct {
			amount float64
			at     time.Duration
		}{
			{amount: 3000}, {amount: 50, at: 3000 * ms}, {amount: 0, at: 3100 * ms}, {amount: 200, at: 3200 * ms}, {amount: 1, at: 3400 * ms},
		} {
			_, err := l.Acquire(aimd.WithAmount(t.Context(), c.amount))
			require.NoError(t, err)
			require.InDelta(t, c.at, time.Since(start), 10, "%v", c.amount)
		}
		require.Equal(t, 5, l.Snapshot().InFlight, "a slot is an attempt")
	})
}

// A small operation does not overtake a large one, whose turn comes first.
func TestOperationsOfAnyAmountKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20, func(c *aimd.Config) { c.MaxAmountRate = 100 })
		start, all := time.Now(), sync.WaitGroup{}
		var at [4]time.Duration
		for i, amount := range []float64{100, 900, 10, 100} {
			all.Go(func() {
				_, err := l.Acquire(aimd.WithAmount(t.Context(), amount))
				assert.NoError(t, err)
				at[i] = time.Since(start)
			})
			synctest.Wait()
		}
		all.Wait()
		for i, want := range []time.Duration{0, time.Second, 10 * time.Second, 10100 * ms} {
			assert.InDelta(t, want, at[i], 10)
		}
	})
}

// attempt.Used: "the next gap is longer by the difference, at most by MaxRetryAfter, or shorter".
func TestWhatAnAttemptCostInFact(t *testing.T) {
	for _, c := range []struct {
		said, used float64
		next       time.Duration
	}{
		{said: 100, used: 300, next: 3 * time.Second}, {said: 300, used: 100, next: time.Second}, {used: 200, next: 2 * time.Second},
		{said: 100, used: 0, next: 10 * ms}, {said: 100, used: 1e12, next: 301 * time.Second}, {said: 100, used: 1.5e12, next: time.Second},
		{said: 100, used: -1, next: time.Second}, {said: 100, used: math.NaN(), next: time.Second},
	} {
		for name, with := range map[string]func(l *aimd.Limiter, ctx context.Context) error{
			"Begin": func(l *aimd.Limiter, ctx context.Context) error {
				a, err := l.Begin(ctx)
				attempt.Used(a.Context(), c.used)
				a.End(nil)
				attempt.Used(a.Context(), 1e6) // it has ended
				return err
			},
			"Do": func(l *aimd.Limiter, ctx context.Context) error {
				outer := attempttest.Limiter(t, aimd.Config{})
				return outer.Do(ctx, func(ctx context.Context) error {
					return l.Do(ctx, func(ctx context.Context) error {
						return outer.Do(ctx, func(ctx context.Context) error { attempt.Used(ctx, c.used); return nil })
					})
				})
			},
		} {
			t.Run(fmt.Sprint(name, c.said, " ", c.used), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLimiter(t, 20, func(c *aimd.Config) { c.MaxAmountRate = 100 })
					start := time.Now()
					require.NoError(t, with(l, aimd.WithAmount(t.Context(), c.said)))
					attempttest.Acquire(t, l)
					require.InDelta(t, c.next, time.Since(start), 10)
				})
			})
		}
	}
}

// An amount that cannot be is an error at once, which names the setting, the value and what is allowed.
func TestAmountsThatCannotBe(t *testing.T) {
	const numbers = "a number from 1 to 1000000000000"
	for _, c := range []struct {
		amount float64
		rate   float64
		want   string
	}{
		{0, 0.0001, ""}, {1, 0.0001, ""}, {2, 0.0001, "at most 1, 2h46m40s of MaxAmountRate"}, {1e12, 0, "at most 1000, the service's limit of tokens"},
		{1e5, 10, "at most 1000, the service's limit of tokens"}, {100_001, 10, "at most 100000, 2h46m40s of MaxAmountRate"},
		{1000, 10, ""}, {1001, 10, "at most 1000, the service's limit of tokens"},
		{-1, 0, numbers}, {0.5, 0, numbers}, {1.5e12, 0, numbers}, {math.NaN(), 0, numbers}, {math.Inf(1), 0, numbers}, {math.Inf(-1), 0, numbers},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, 20, func(cfg *aimd.Config) { cfg.MaxAmountRate = c.rate })
			a, err := l.Begin(aimd.WithAmount(t.Context(), 1))
			require.NoError(t, err)
			a.Head(nil, answer.Quota{Name: "tokens", Limit: 1000, Left: 999, Reset: time.Minute, Amounts: true})
			a.End(nil)
			err = l.Do(aimd.WithAmount(t.Context(), c.amount), func(context.Context) error { return nil })
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var wrong *setting.Error
			require.ErrorAs(t, err, &wrong, "%v", c.amount)
			require.Equal(t, "amount", wrong.Name)
			require.Equal(t, c.want, wrong.Want)
		})
	}
	for _, rate := range []float64{-1, 0.00005, 2e12, math.NaN(), math.Inf(1)} {
		_, err := aimd.New(aimd.Config{MaxAmountRate: rate})
		require.EqualError(t, err, fmt.Sprintf("aimd: MaxAmountRate: %v is not allowed, want a number from 0.0001 to 1000000000000", rate))
	}
}
