package throttle_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

var _ attempt.Guard = (*throttle.Throttle)(nil)

func newThrottle(t *testing.T, c throttle.Config) (*throttle.Throttle, *clock.Mock) {
	t.Helper()
	mock := clock.NewMock()
	c.Rand = rand.New(rand.NewPCG(1, 2))
	th, err := throttle.New(c)
	require.NoError(t, err)
	th.SetClock(mock)
	return th, mock
}

// refuse counts n refused requests.
func refuse(ctx context.Context, th *throttle.Throttle, n int) {
	for range n {
		th.Ended(ctx, window.Overload)
	}
}

func TestAnErrorThatCallersCanTell(t *testing.T) {
	th, mock := newThrottle(t, throttle.Config{})
	ctx := tag.WithCriticality(t.Context(), tag.SheddablePlus)
	require.NoError(t, th.Admit(ctx, 1))
	refuse(ctx, th, 10_000)
	err := th.Admit(ctx, 1)
	require.ErrorIs(t, err, throttle.ErrThrottled)
	require.NotErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "throttle: rejected by the client: probability 1.00, since of 10000 sheddable-plus requests in 2m0s the service accepted 0")

	require.NoError(t, th.Admit(t.Context(), 1), "others are not concerned")
	_, _, rejection := th.Counts(tag.SheddablePlus)
	assert.Positive(t, rejection)
	mock.Add(time.Second)
	_, _, rejection = th.Counts(tag.SheddablePlus)
	assert.Zero(t, rejection)
	require.NoError(t, th.Admit(ctx, 1), "a probe")
}

// A cancellation by the caller does not count, whatever the outcome.
func TestACancelledRequestCountsAsNothing(t *testing.T) {
	th, _ := newThrottle(t, throttle.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, th.Admit(ctx, 1))
	cancel()
	th.Ended(ctx, window.Neutral)
	th.Ended(ctx, 0)
	requests, accepts, _ := th.Counts(tag.Critical)
	assert.Zero(t, requests)
	assert.Zero(t, accepts)
	th.Ended(ctx, window.Overload)
	th.Ended(ctx, window.Success)
	requests, accepts, _ = th.Counts(tag.Critical)
	assert.Equal(t, 2, requests, "an answer counts all the same")
	assert.Equal(t, 1, accepts)
}

func TestManyGoroutines(t *testing.T) {
	th, err := throttle.New(throttle.Config{})
	require.NoError(t, err)
	const each = 500
	var all sync.WaitGroup
	for i := range 8 {
		ctx := tag.WithCriticality(t.Context(), tag.Sheddable+tag.Criticality(i%4))
		all.Go(func() {
			for range each {
				if err := th.Admit(ctx, 1); err == nil {
					th.Ended(ctx, window.Overload)
				} else if !errors.Is(err, throttle.ErrThrottled) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for of := tag.Sheddable; of <= tag.CriticalPlus; of++ {
		requests, accepts, _ := th.Counts(of)
		assert.Equal(t, 2*each, requests)
		assert.Zero(t, accepts)
	}
}

// status is an error with an HTTP status.
type status int

func (s status) Error() string       { return http.StatusText(int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }

// other is the error of another throttle.
func other(t *testing.T) error {
	th, _ := newThrottle(t, throttle.Config{})
	for {
		if err := th.Admit(t.Context(), 1); err != nil {
			return err
		}
		refuse(t.Context(), th, 100)
	}
}

// Do counts a request as accepted or not by its error.
func TestWhatDoCounts(t *testing.T) {
	refused := errors.New("refused in our own words")
	for _, c := range []struct {
		err               error
		requests, accepts int
	}{
		{nil, 1, 1},
		{status(404), 1, 1},
		{status(413), 1, 1},
		{status(500), 1, 1},
		{errors.New("malformed answer"), 1, 1},
		{status(429), 1, 0},
		{status(503), 1, 0},
		{status(504), 1, 0},
		{context.DeadlineExceeded, 1, 0},
		{refused, 1, 0},
		{context.Canceled, 0, 0},
		{io.ErrUnexpectedEOF, 0, 0},
		{other(t), 0, 0}, // of another throttle, beneath
	} {
		th, err := throttle.New(throttle.Config{Classifier: func(err error) verdict.Verdict {
			if errors.Is(err, refused) {
				return verdict.Verdict{Meaning: answer.Refused}
			}
			return verdict.FirstOf(verdict.Classify)(err)
		}})
		require.NoError(t, err)
		th.SetClock(clock.NewMock())
		require.Equal(t, c.err, th.Do(t.Context(), func(context.Context) error { return c.err }))
		requests, accepts, _ := th.Counts(tag.Critical)
		assert.Equal(t, [2]int{c.requests, c.accepts}, [2]int{requests, accepts}, "%v", c.err)
	}
}

func TestDoWhereNothingIsSaid(t *testing.T) {
	th, _ := newThrottle(t, throttle.Config{})
	require.Panics(t, func() { _ = th.Do(t.Context(), func(context.Context) error { panic("boom") }) })
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, th.Do(ctx, func(context.Context) error { cancel(); return status(500) }), status(500))
	requests, _, _ := th.Counts(tag.Critical)
	require.Zero(t, requests)
	refuse(t.Context(), th, 10_000)
	require.ErrorIs(t, th.Do(t.Context(), func(context.Context) error { t.Error("runs"); return nil }), throttle.ErrThrottled)
}

// In a limiter's Do, and under a retry policy, it is a guard.
func TestAThrottleInALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, err := throttle.New(throttle.Config{Rand: rand.New(rand.NewPCG(1, 2))})
		require.NoError(t, err)
		l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), Guards: []attempt.Guard{th}, MaxAttempts: 1, PauseMax: -1})
		sent, throttled := 0, 0
		for range 1000 {
			err := l.Do(t.Context(), func(context.Context) error { sent++; return status(503) })
			require.Error(t, err)
			if errors.Is(err, throttle.ErrThrottled) {
				throttled++
			}
		}
		require.Equal(t, 1000, sent+throttled)
		require.Less(t, sent, 50)
		require.EqualValues(t, sent, l.Snapshot().Overloads)
	})
}
