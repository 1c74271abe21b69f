package throttle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

var _ limiter.Guard = (*throttle.Throttle)(nil)

func newThrottle(t *testing.T, s throttle.Settings) (*throttle.Throttle, *clock.Mock) {
	t.Helper()
	mock := clock.NewMock()
	s.Rand = rand.New(rand.NewPCG(1, 2))
	th, err := throttle.New(throttle.Config{Settings: s, Clock: mock})
	require.NoError(t, err)
	return th, mock
}

// refuse makes the throttle believe that the last n requests were refused.
func refuse(ctx context.Context, th *throttle.Throttle, n int) {
	for range n {
		th.Ended(ctx, window.Overload)
	}
}

func TestAnErrorThatCallersCanTell(t *testing.T) {
	th, mock := newThrottle(t, throttle.Settings{})
	ctx := tag.WithCriticality(t.Context(), tag.SheddablePlus)
	require.NoError(t, th.Admit(ctx, 1))
	refuse(ctx, th, 10_000)
	err := th.Admit(ctx, 1)
	require.ErrorIs(t, err, throttle.ErrThrottled)
	require.NotErrorIs(t, err, context.Canceled)
	var e *throttle.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 10_000, e.Requests, "before this one")
	assert.Zero(t, e.Accepts)
	assert.Equal(t, 2*time.Minute, e.Window)
	assert.Equal(t, tag.SheddablePlus, e.Criticality)
	assert.Less(t, e.Rejection, 1.0)
	assert.EqualError(t, &throttle.Error{Rejection: 0.981, Requests: 412, Accepts: 3, Window: 2 * time.Minute},
		"throttle: rejected by the client: probability 0.98, since of 412 critical requests in 2m0s the service accepted 3")

	require.NoError(t, th.Admit(t.Context(), 1), "others are not concerned")
	assert.Positive(t, th.Rejection(tag.SheddablePlus))
	mock.Add(throttle.DefaultProbe)
	assert.Zero(t, th.Rejection(tag.SheddablePlus))
	require.NoError(t, th.Admit(ctx, 1), "a probe")
}

// A cancellation by the caller says nothing, however it is told.
func TestACancelledRequestCountsAsNothing(t *testing.T) {
	th, _ := newThrottle(t, throttle.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, th.Admit(ctx, 1))
	cancel()
	th.Ended(ctx, window.Neutral)
	th.Ended(ctx, 0)
	requests, accepts := th.Counts(tag.Critical)
	assert.Zero(t, requests)
	assert.Zero(t, accepts)
	th.Ended(ctx, window.Overload)
	th.Ended(ctx, window.Success)
	requests, accepts = th.Counts(tag.Critical)
	assert.Equal(t, 2, requests, "an answer counts all the same")
	assert.Equal(t, 1, accepts)
}

func TestManyGoroutines(t *testing.T) {
	th, err := throttle.New(throttle.Config{})
	require.NoError(t, err)
	const each = 500
	var all sync.WaitGroup
	for i := range 8 {
		ctx := tag.WithCriticality(t.Context(), tag.Criticalities[i%4])
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
	for _, of := range tag.Criticalities {
		requests, accepts := th.Counts(of)
		assert.Equal(t, 2*each, requests)
		assert.Zero(t, accepts)
	}
}
