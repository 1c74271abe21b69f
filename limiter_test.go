package aimd_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// laws are those of "Improve on exponential backoff"; every test of the suite holds for both.
var laws = []struct {
	name string
	law  func(factor, initial float64) window.NewLaw
	// cut is the window after a cut of one of 10 attempts, with factor 0.5 and an initial window of 4.
	cut float64
}{
	{"tahoe", aimd.Tahoe, 4},
	{"reno", func(factor, _ float64) window.NewLaw { return aimd.Reno(factor) }, 5},
}

// forBoth runs a test of the suite for both laws.
func forBoth(t *testing.T, test func(t *testing.T, newLimiter func(float64, aimd.Config) (*aimd.Limiter, error), cut float64)) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			test(t, func(factor float64, c aimd.Config) (*aimd.Limiter, error) {
				c.Law = l.law(factor, c.InitialWindow)
				return aimd.New(c)
			}, l.cut)
		})
	}
}

func take(t *testing.T, l *aimd.Limiter, n int) []aimd.Permit {
	t.Helper()
	all := make([]aimd.Permit, n)
	for i := range all {
		p, ok := l.TryAcquire()
		require.True(t, ok, "slot %d of %d is free", i+1, n)
		all[i] = p
	}
	return all
}

func wantWindow(t *testing.T, l *aimd.Limiter, cwnd, ssthresh float64) {
	t.Helper()
	s := l.Snapshot()
	require.InDelta(t, cwnd, s.Cwnd, 1e-9, "cwnd")
	require.InDelta(t, ssthresh, s.Ssthresh, 1e-9, "ssthresh")
}

// "use 2 scalar variables cwnd and sshthres (suitable starting values are e.g. 20 and 1024)"
func TestStartingValues(t *testing.T) {
	forBoth(t, func(t *testing.T, newLimiter func(float64, aimd.Config) (*aimd.Limiter, error), _ float64) {
		l, err := newLimiter(0.5, aimd.Config{})
		require.NoError(t, err)
		wantWindow(t, l, 20, 1024)
		take(t, l, 20)
		_, ok := l.TryAcquire()
		require.False(t, ok)
	})
}

// "on error response, if the request id is not in ignored, set sshthres to cwnd * 0.5 and cwnd to either
// the initial value (“Tahoe”) or the new sshthres (“Reno”)"
func TestCut(t *testing.T) {
	forBoth(t, func(t *testing.T, newLimiter func(float64, aimd.Config) (*aimd.Limiter, error), cut float64) {
		l, err := newLimiter(0.5, aimd.Config{InitialWindow: 4})
		require.NoError(t, err)
		var p []aimd.Permit
		for l.Snapshot().Cwnd < 10 {
			p = append(p, take(t, l, int(l.Snapshot().Cwnd)-len(p))...)
			p[0].Done(aimd.Success)
			p = p[1:]
		}
		p = append(p, take(t, l, 10-len(p))...)
		p[0].Done(aimd.Overload)
		wantWindow(t, l, cut, 5)
		// "error responses for outstanding requests must be ignored after we get the first error"
		for _, late := range p[1:] {
			late.Done(aimd.Overload)
		}
		wantWindow(t, l, cut, 5)
		require.EqualValues(t, 1, l.Snapshot().Cuts)
	})
}

// "cwnd never falls below 1": an outage ends, and work goes on.
func TestTheWindowNeverFallsBelowOne(t *testing.T) {
	forBoth(t, func(t *testing.T, newLimiter func(float64, aimd.Config) (*aimd.Limiter, error), _ float64) {
		l, err := newLimiter(0.5, aimd.Config{InitialWindow: 1, Rules: aimd.Rules{PauseMax: -1}})
		require.NoError(t, err)
		for range 5000 {
			take(t, l, 1)[0].Done(aimd.Overload)
		}
		wantWindow(t, l, 1, 1)
		take(t, l, 1)
	})
}

var errRefused = errors.New("503 Slow Down")

// capped is a service that takes 80 to 120 ms for each request and refuses those beyond its slots in 1
// ms, on the bubble's time.
type capped struct {
	slots           int64
	busy            atomic.Int64
	served, refused atomic.Int64
}

func (c *capped) serve(context.Context) error {
	defer c.busy.Dec()
	if c.busy.Inc() > c.slots {
		c.refused.Inc()
		time.Sleep(time.Millisecond)
		return errRefused
	}
	c.served.Inc()
	time.Sleep(80*time.Millisecond + rand.N(40*time.Millisecond))
	return nil
}

func refusals(err error) attempt.Verdict {
	if errors.Is(err, errRefused) {
		return attempt.Verdict{Outcome: window.Overload, Retry: true}
	}
	return attempt.Verdict{}
}

// 2000 operations against 32 slots, through Do's goroutines and through Each: all done, hardly a refusal,
// and near the optimum.
func TestBulkWorkEndsNearTheOptimumAndLosesNothing(t *testing.T) {
	const operations, slots = 2000, 32
	optimum := (operations + slots - 1) / slots * 100 * time.Millisecond
	run := map[string]func(*testing.T, *aimd.Limiter, *capped){
		"Do": func(t *testing.T, l *aimd.Limiter, c *capped) {
			work, done := make(chan int), make(chan error)
			for range 256 {
				go func() {
					for range work {
						done <- l.Do(t.Context(), c.serve)
					}
				}()
			}
			go func() {
				defer close(work)
				for i := range operations {
					work <- i
				}
			}()
			for range operations {
				assert.NoError(t, <-done)
			}
		},
		"Each": func(t *testing.T, l *aimd.Limiter, c *capped) {
			items := func(yield func(int) bool) {
				for i := 0; i < operations && yield(i); i++ {
				}
			}
			for _, err := range aimd.Items(t.Context(), l, items, func(ctx context.Context, _ int) error { return c.serve(ctx) }) {
				assert.NoError(t, err)
			}
		},
	}
	for name, run := range run {
		t.Run(name, func(t *testing.T) {
			forBoth(t, func(t *testing.T, newLimiter func(float64, aimd.Config) (*aimd.Limiter, error), _ float64) {
				synctest.Test(t, func(t *testing.T) {
					l, err := newLimiter(0.9, aimd.Config{Classifier: refusals})
					require.NoError(t, err)
					c := capped{slots: slots}
					start := time.Now()
					run(t, l, &c)
					span := float64(time.Since(start)) / float64(optimum)
					assert.LessOrEqual(t, span, 1.10)
					assert.EqualValues(t, operations, c.served.Load(), "none lost, none done twice")
					assert.LessOrEqual(t, c.refused.Load(), int64(operations*3/100))
					s := l.Snapshot()
					assert.EqualValues(t, c.refused.Load(), s.Overloads)
					assert.Zero(t, s.InFlight)
					assert.NoError(t, l.Shutdown(t.Context()))
				})
			})
		})
	}
}

// Window settings of 0, -1, NaN and Inf are errors, each with its setting.
func TestWrongSettingsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, o := range map[string]aimd.Config{
		"aimd: InitialWindow: +Inf is not allowed, want a number from 1 to 1048576":          {InitialWindow: inf},
		"aimd: MinWindow: +Inf is not allowed, want a number from 1 to 1048576":              {Rules: aimd.Rules{MinWindow: inf}},
		"aimd: MaxWindow: -1 is not allowed, want a number from 1 to 1048576":                {Rules: aimd.Rules{MaxWindow: -1}},
		"aimd: MaxRate: -1 is not allowed, want a number from 0.0001 to 1000000":             {Rules: aimd.Rules{MaxRate: -1}},
		"aimd: MaxRate: NaN is not allowed, want a number from 0.0001 to 1000000":            {Rules: aimd.Rules{MaxRate: nan}},
		"aimd: QueueBound: -1 is not allowed, want a number from 1, or 0 for none":           {Rules: aimd.Rules{QueueBound: -1}},
		"aimd: MaxAttempts: -1 is not allowed, want a number from 1, or 0 for none":          {Rules: aimd.Rules{MaxAttempts: -1}},
		"aimd: AttemptTimeout: -1ns is not allowed, want a positive duration, or 0 for none": {Rules: aimd.Rules{AttemptTimeout: -1}},
		"aimd: PauseMin: 2s is not allowed, want a duration from 1ms to 1s":                  {Rules: aimd.Rules{PauseMin: 2 * time.Second, PauseMax: time.Second}},
		"aimd: MaxRetryAfter: -1ns is not allowed, want a duration from 1ms to 24h0m0s":      {Rules: aimd.Rules{MaxRetryAfter: -1}},
		"aimd: Guards: nil is not allowed":                                                   {Guards: []attempt.Guard{nil}},
		"aimd: Restore: Cwnd: NaN is not allowed, want a number above 0, at most 1048576":    {Restore: aimd.Snapshot{Cwnd: nan, Ssthresh: 1}},
	} {
		o.Law = aimd.Reno(0.5)
		l, err := aimd.New(o)
		assert.EqualError(t, err, want)
		assert.Nil(t, l)
	}
}

// A law with a number that it cannot have is an error of New, which names the number.
func TestTheNumbersOfALaw(t *testing.T) {
	for want, law := range map[string]window.NewLaw{
		"aimd: factor: 1 is not allowed, want a number greater than 0 and less than 1":    aimd.Reno(1),
		"aimd: factor: -0.5 is not allowed, want a number greater than 0 and less than 1": aimd.Tahoe(-0.5, 20),
		"aimd: factor: NaN is not allowed, want a number greater than 0 and less than 1":  aimd.Reno(math.NaN()),
		"aimd: initial: 0.5 is not allowed, want a number from 1 to 1048576":              aimd.Tahoe(0.5, 0.5),
	} {
		_, err := aimd.New(aimd.Config{Law: law})
		require.EqualError(t, err, want)
	}
	for law, cwnd := range map[string]float64{"reno": 10, "tahoe": 20} {
		l, err := aimd.New(aimd.Config{InitialWindow: 20, Law: map[string]window.NewLaw{"reno": aimd.Reno(0), "tahoe": aimd.Tahoe(0, 0)}[law]})
		require.NoError(t, err)
		take(t, l, 1)[0].Done(aimd.Overload)
		wantWindow(t, l, cwnd, 10)
	}
}

// A law that is not there is an error, however it is missing.
func TestALawThatIsNil(t *testing.T) {
	none := func(window.Settings) window.Law { return nil }
	_, err := aimd.New(aimd.Config{Law: none})
	require.EqualError(t, err, "aimd: Law: nil is not allowed")
	once := 0
	l, err := aimd.New(aimd.Config{Law: func(s window.Settings) window.Law {
		if once++; once == 1 {
			return aimd.Reno(0.5)(s)
		}
		return nil
	}})
	require.NoError(t, err)
	require.EqualError(t, l.Reconfigure(aimd.Rules{MaxWindow: 8}), "aimd: Law: nil is not allowed")
	take(t, l, 1)[0].Done(aimd.Success)
}

func TestSettingsReachTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int64
		l, err := aimd.New(aimd.Config{
			Law: aimd.Reno(0.5), InitialWindow: 8, Observer: func(aimd.Event) { seen.Inc() },
			Rules: aimd.Rules{
				MinWindow: 2, MaxWindow: 8, QueueBound: 1, MaxAttempts: 2, AttemptTimeout: time.Second,
				PauseMin: time.Second, PauseMax: 2 * time.Second, MaxRetryAfter: time.Minute,
			},
		})
		require.NoError(t, err)
		for _, p := range take(t, l, 8) {
			p.Done(aimd.Success)
		}
		wantWindow(t, l, 8, 1024)
		require.EqualValues(t, 8, seen.Load())

		err = l.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		require.ErrorIs(t, err, attempt.ErrAttempts)
		require.EqualValues(t, 2, l.Snapshot().Timeouts)
		wantWindow(t, l, 2, 2)

		start := time.Now()
		p, err := l.Acquire(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), 500*time.Millisecond)
		p.Done(aimd.Success)

	})
}

// The law of New takes one from the window for every refusal of a burst: the decisions tell all of the
// way down, not the first step alone.
func TestDecisionsTellHowDeepACutGoes(t *testing.T) {
	l, err := aimd.New(aimd.Config{InitialWindow: 40})
	require.NoError(t, err)
	for _, p := range take(t, l, 40) {
		p.Done(window.Overload)
	}
	at := 40.0
	for _, e := range l.Snapshot().Decisions {
		if e.Kind == aimd.Paused {
			continue
		}
		require.InDelta(t, at, e.Before, 1e-9, "it begins where the last one ended: %v", e)
		require.Contains(t, e.String(), " of ", "it says why")
		at = e.Window.Cwnd
	}
	require.InDelta(t, l.Snapshot().Cwnd, at, 1e-9)
	require.LessOrEqual(t, at, 20.0)
}
