package race

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/live"
)

// task is work without requests, whose optimum is ten operations a second.
type task struct {
	do func(ctx context.Context, i int) error
	// has is nil if the service has all.
	has func(i int) bool
}

func (task) Optimum(n int) time.Duration { return time.Duration(n) * time.Second / 10 }

func (k task) Start(*Strategy, *http.Client) (Service, error) {
	if k.has == nil {
		k.has = func(int) bool { return true }
	}
	return Service{Do: k.do, Has: k.has, Peak: func() int { return 7 }, Close: func() {}}, nil
}

// raced is the result of a race with one strategy.
func raced(t *testing.T, ctx context.Context, r Race, strategy string, k task) (x Result, m *Meter) {
	t.Helper()
	r.Only, r.Factor = []string{strategy}, 0.9
	require.NoError(t, r.Run(ctx, k, func(_ string, begun *Meter) { m = begun }, func(result Result) error {
		x = result
		return nil
	}))
	return x, m
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func second(ctx context.Context, _ int) error { return sleep(ctx, time.Second) }

func TestRunMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := raced(t, t.Context(), Race{Operations: 100, Goroutines: 10}, "reno", task{do: func(ctx context.Context, i int) error {
			if i == 7 {
				return sleep(ctx, 3*time.Second)
			}
			return second(ctx, i)
		}})
		assert.Equal(t, 100, r.Operations)
		assert.Equal(t, 11.0, r.MakespanS, "the slow one holds up one goroutine of ten for 2 s")
		assert.Equal(t, 10.0, r.OptimumS)
		assert.InDelta(t, 1.1, r.TimesOptimum(), 1e-9)
		assert.Equal(t, 1.0, r.P99S, "one in a hundred may take longer")
		assert.Equal(t, 0.9, r.Factor)
		time.Sleep(time.Hour)
		assert.Equal(t, 11*time.Second, m.Now().At, "its time stands still when it is over")
		assert.Equal(t, 7, r.Peak)
		assert.Zero(t, r.Lost)
	})
}

// The system may count a processor's time in ticks, so the work goes on until some are counted.
func TestTheProcessorsTimeIsCounted(t *testing.T) {
	r, _ := raced(t, t.Context(), Race{Operations: 1, Goroutines: 1}, "plain", task{do: func(context.Context, int) error {
		began := processorTime()
		for i := 0; i < 10_000_000 && processorTime() < began+20*time.Millisecond; i++ {
		}
		return nil
	}})
	assert.Equal(t, runtime.GOOS != "windows", r.CPUS >= 0.02, "%v s", r.CPUS)
}

// What is lost is what the service has not, whatever it answered.
func TestLostIsWhatTheServiceHasNot(t *testing.T) {
	r, _ := raced(t, t.Context(), Race{Operations: 10, Goroutines: 3}, "plain", task{
		do: func(_ context.Context, i int) error {
			if i < 4 {
				return fmt.Errorf("upload: %w", fmt.Errorf("%d tokens left", i))
			}
			if i == 4 {
				return errors.New("broken")
			}
			return nil
		},
		// The service has 0, whose answer went astray, and has not 9.
		has: func(i int) bool { return i == 0 || i > 4 && i < 9 },
	})
	assert.Equal(t, 10, r.Operations)
	assert.Equal(t, 5, r.Lost)
	assert.Regexp(t, `^\d tokens left$`, r.Reason)
	assert.Zero(t, r.TimesOptimum(), "work was lost")
}

func TestTimeLimitLosesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := raced(t, t.Context(), Race{Operations: 100, Goroutines: 10, Limit: 2500 * time.Millisecond}, "plain",
			task{do: second, has: func(i int) bool { return i < 20 }})
		assert.Equal(t, 100, r.Operations)
		assert.Equal(t, 80, r.Lost)
		assert.Equal(t, 2.5, r.MakespanS)
		assert.Equal(t, "the time limit of 2.5s is over (--limit)", r.Reason)
	})
}

// An interrupted strategy has no result, and no other follows.
func TestInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		r := Race{Operations: 2, Goroutines: 1, Only: []string{"plain", "reno", "tahoe"}, Factor: 0.9}
		var all []string
		require.NoError(t, r.Run(ctx, task{do: second}, func(string, *Meter) {}, func(x Result) error {
			all = append(all, x.Strategy)
			return nil
		}))
		assert.Equal(t, []string{"plain"}, all)
	})
}

// drawn is a random source that always draws the same.
type drawn float64

func (d drawn) Float64() float64     { return float64(d) }
func (d drawn) NormFloat64() float64 { return 0 }

// Backoff retries with full jitter until the time of all is over.
func TestBackoff(t *testing.T) {
	for retry, most := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 8: 12800 * time.Millisecond, 9: 20 * time.Second, 1000: 20 * time.Second} {
		for _, u := range []drawn{0, 0.5} {
			for name, bound := range map[string]time.Duration{"backoff": most, "backoff-1s": min(most, time.Second)} {
				d, again := delays[name].Delay(backoff.State{Retry: retry}, u)
				assert.True(t, again)
				assert.Equal(t, time.Duration(float64(u)*float64(bound)), d, "%s, retry %d", name, retry)
			}
		}
	}
	for retry, mean := range map[int]time.Duration{1: 500 * time.Millisecond, 2: 750 * time.Millisecond, 100: time.Minute} {
		for _, u := range []drawn{0, 0.5} { // from half of it to one and a half times
			d, again := delays["backoff-v5"].Delay(backoff.State{Retry: retry}, u)
			assert.True(t, again)
			assert.Equal(t, time.Duration((0.5+float64(u))*float64(mean)), d, "retry %d", retry)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r, _ := raced(t, t.Context(), Race{Operations: 2, Goroutines: 2, Limit: time.Minute}, "backoff", task{do: func(context.Context, int) error {
			return errors.New("SlowDown")
		}})
		assert.Equal(t, 60.0, r.MakespanS)
		assert.Equal(t, "the time limit of 1m0s is over (--limit)", r.Reason)
	})
}

type answers []int

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	status := (*a)[0]
	*a = (*a)[1:]
	if status == 0 {
		return nil, errors.New("connection lost")
	}
	return &http.Response{StatusCode: status}, nil
}

func TestTransportCountsEveryAttempt(t *testing.T) {
	m := new(Meter)
	tr := transport{m, &answers{200, 204, 503, 429, 404, 0}}
	for range 6 {
		_, _ = tr.RoundTrip(nil)
	}
	assert.Equal(t, Sample{Flow: live.Flow{Accepted: 2, Refused: 2}, Attempts: 6}, m.Now())
}

// Every strategy that tries again does so by its own means, until it succeeds; the others leave it to the client.
func TestStrategiesTryAgain(t *testing.T) {
	for name, tries := range map[string]int{"sdk-default": 1, "backoff": 2, "probe": 2, "tahoe": 2, "reno": 2} {
		synctest.Test(t, func(t *testing.T) {
			s, err := Race{Factor: 0.9}.strategy(name)
			require.NoError(t, err)
			n := 0
			err = s.Do(t.Context(), func(context.Context) error {
				if n++; n == 1 {
					return context.DeadlineExceeded
				}
				return nil
			})
			assert.Equal(t, tries == 1, err != nil, name)
			assert.Equal(t, tries, n, name)
			if s.Limiter != nil {
				s.Limiter.Close()
			}
		})
	}
	_, err := Race{Factor: 2}.strategy("reno")
	require.ErrorContains(t, err, "is not allowed")
}
