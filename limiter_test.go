package aimd_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

const ms = time.Millisecond

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// laws are those of "Improve on exponential backoff"; every test of the suite holds for both.
var laws = map[string]struct {
	law func(factor, initial float64) window.NewLaw
	// cut is the window after a cut of one of 10 attempts, with factor 0.5 and an initial window of 4, and first after
	// one of 20 with the numbers of the text.
	cut, first float64
}{
	"tahoe": {aimd.Tahoe, 4, 20},
	"reno":  {func(factor, _ float64) window.NewLaw { return aimd.Reno(factor) }, 5, 10},
}

// "All requests complete within 25s ... The client performs 2085 request attempts overall (i.e., 85 fail)"
// ([Syncmusings]): the limiter that users have, with goroutines, against the text's service, on virtual time.
func TestTheFiguresOfTheText(t *testing.T) {
	busy := errors.New("busy")
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{
			Law:        aimd.Reno(0.9),
			Classifier: func(error) verdict.Verdict { return verdict.Verdict{Meaning: answer.Refused} },
		})
		var inService, attempts, refused atomic.Int64
		request := func(context.Context) error {
			attempts.Inc()
			time.Sleep(100 * time.Millisecond) // "the connection/request time is 100ms"
			defer inService.Dec()
			if inService.Inc() > 50 {
				refused.Inc()
				time.Sleep(50 * time.Millisecond) // "error responses in 50ms"
				return busy
			}
			time.Sleep(500 * time.Millisecond) // "succesful responses are served in 500ms"
			return nil
		}
		start := time.Now()
		var all sync.WaitGroup
		for i := range 2000 { // "initially generated at a 1000/s rate"
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				assert.NoError(t, l.Do(t.Context(), request))
			})
		}
		all.Wait()
		assert.Equal(t, 25205*time.Millisecond, time.Since(start))
		assert.EqualValues(t, 2085, attempts.Load())
		assert.EqualValues(t, 85, refused.Load())
		l.Close()
	})
}

func wantWindow(t *testing.T, l *aimd.Limiter, cwnd, ssthresh float64) {
	t.Helper()
	s := l.Snapshot()
	require.InDelta(t, cwnd, s.Cwnd, 1e-9, "cwnd")
	require.InDelta(t, ssthresh, s.Ssthresh, 1e-9, "ssthresh")
}

// "use 2 scalar variables cwnd and sshthres (suitable starting values are e.g. 20 and 1024)"; "on error response, if
// the request id is not in ignored, set sshthres to cwnd * 0.5 and cwnd to either the initial value (“Tahoe”) or the
// new sshthres (“Reno”)"; "error responses for outstanding requests must be ignored after we get the first error".
// In an outage cwnd stays at 1, and work goes on.
func TestTheLawsOfTheText(t *testing.T) {
	for name, law := range laws {
		t.Run(name, func(t *testing.T) {
			l := attempttest.Limiter(t, aimd.Config{Law: law.law(0, 0)})
			wantWindow(t, l, 20, 1024)
			p := acquire(t, l, 20)
			_, ok := l.TryAcquire()
			require.False(t, ok)
			p[0].Done(window.Overload)
			wantWindow(t, l, law.first, 10)

			l = attempttest.Limiter(t, aimd.Config{Law: law.law(0.5, 4), InitialWindow: 4})
			p = nil
			for l.Snapshot().Cwnd < 10 {
				p = append(p, acquire(t, l, int(l.Snapshot().Cwnd)-len(p))...)
				p[0].Done(window.Success)
				p = p[1:]
			}
			for _, permit := range append(p, acquire(t, l, 10-len(p))...) {
				permit.Done(window.Overload)
				wantWindow(t, l, law.cut, 5)
			}
			require.EqualValues(t, 1, l.Snapshot().Cuts)

			l = attempttest.Limiter(t, aimd.Config{Law: law.law(0.5, 1), InitialWindow: 1, PauseMax: -1})
			for range 5000 {
				acquire(t, l, 1)[0].Done(window.Overload)
			}
			wantWindow(t, l, 1, 1)
			acquire(t, l, 1)
		})
	}
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

func refusals(err error) verdict.Verdict {
	if errors.Is(err, errRefused) {
		return verdict.Verdict{Meaning: answer.Refused}
	}
	return verdict.Verdict{}
}

// 2000 operations against 32 slots, through Do's goroutines and through Each: all done, hardly a refusal,
// and near the optimum.
func TestBulkWorkEndsNearTheOptimumAndLosesNothing(t *testing.T) {
	const operations, slots = 2000, 32
	optimum := (operations + slots - 1) / slots * 100 * time.Millisecond
	do := func(t *testing.T, l *aimd.Limiter, c *capped) {
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
	}
	each := func(t *testing.T, l *aimd.Limiter, c *capped) {
		assert.NoError(t, aimd.Each(t.Context(), l, count(operations), func(ctx context.Context, _ int) error { return c.serve(ctx) }))
	}
	for name, law := range laws {
		for way, run := range map[string]func(*testing.T, *aimd.Limiter, *capped){"Do": do, "Each": each} {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := attempttest.Limiter(t, aimd.Config{Law: law.law(0.9, 0), Classifier: refusals})
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
		}
	}
}

// A wrong setting is an error that names the field, its value and what is allowed. So is a number that a law cannot
// have, and a law that is not there.
func TestWrongSettingsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, c := range map[string]aimd.Config{
		"InitialWindow: +Inf is not allowed, want a number from 1 to 1048576":          {InitialWindow: inf},
		"MinWindow: +Inf is not allowed, want a number from 1 to 1048576":              {MinWindow: inf},
		"MinWindow: 0.5 is not allowed, want a number from 1 to 1048576":               {MinWindow: 0.5},
		"MaxWindow: -1 is not allowed, want a number from 1 to 1048576":                {MaxWindow: -1},
		"MaxWindow: 3 is not allowed, want a number from 9 to 1048576":                 {MinWindow: 9, MaxWindow: 3},
		"MaxRate: -1 is not allowed, want a number from 0.0001 to 1000000":             {MaxRate: -1},
		"MaxRate: NaN is not allowed, want a number from 0.0001 to 1000000":            {MaxRate: nan},
		"QueueBound: -1 is not allowed, want a number from 1, or 0 for none":           {QueueBound: -1},
		"MaxAttempts: -1 is not allowed, want a number from 1, or 0 for none":          {MaxAttempts: -1},
		"AttemptTimeout: -1ns is not allowed, want a positive duration, or 0 for none": {AttemptTimeout: -1},
		"MaxWait: -1ns is not allowed, want a positive duration, or 0 for none":        {MaxWait: -1},
		"PauseMin: 1m0s is not allowed, want a duration from 1ms to 5s":                {PauseMin: time.Minute},
		"MaxRetryAfter: -1ns is not allowed, want a duration from 1ms to 24h0m0s":      {MaxRetryAfter: -1},
		"Guards: nil is not allowed":                                                   {Guards: []attempt.Guard{nil}},
		"factor: 1 is not allowed, want a number greater than 0 and less than 1":       {Law: aimd.Reno(1)},
		"factor: -0.5 is not allowed, want a number greater than 0 and less than 1":    {Law: aimd.Tahoe(-0.5, 20)},
		"factor: NaN is not allowed, want a number greater than 0 and less than 1":     {Law: aimd.Reno(nan)},
		"initial: 0.5 is not allowed, want a number from 1 to 1048576":                 {Law: aimd.Tahoe(0.5, 0.5)},
		"Law: nil is not allowed": {Law: func(window.Settings) window.Law { return nil }},
	} {
		l, err := aimd.New(c)
		assert.EqualError(t, err, "aimd: "+want)
		assert.ErrorAs(t, err, new(*setting.Error))
		assert.Nil(t, l)

		if c.Law != nil || c.Guards != nil || c.InitialWindow != 0 {
			continue
		}
		// What Reconfigure refuses changes nothing.
		l = newLimiter(t, 20)
		before := l.Snapshot()
		assert.EqualError(t, l.Reconfigure(exactly(c)), "aimd: "+want)
		now := l.Snapshot()
		now.At = before.At
		assert.Equal(t, before, now)
	}
}
