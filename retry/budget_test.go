package retry_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/retry"
)

var _ attempt.Guard = (*retry.Budget)(nil)

func TestWrongBudgetsAreNamed(t *testing.T) {
	for want, s := range map[string]retry.BudgetSettings{
		"Share: -0.1 is not allowed, want a number greater than 0 and less than 1": {Share: -0.1},
		"Share: 1 is not allowed, want a number greater than 0 and less than 1":    {Share: 1},
		"Share: NaN is not allowed, want a number greater than 0 and less than 1":  {Share: math.NaN()},
		"Window: 1ms is not allowed, want a duration from 1s to 1h0m0s":            {Window: time.Millisecond},
		"Window: 2h0m0s is not allowed, want a duration from 1s to 1h0m0s":         {Window: 2 * time.Hour},
	} {
		_, err := retry.NewBudget(s, nil)
		assert.EqualError(t, err, "retry: "+want)
		b, err := retry.NewBudget(retry.BudgetSettings{}, nil)
		require.NoError(t, err)
		before := b.Settings()
		assert.EqualError(t, b.Reconfigure(s), "retry: "+want)
		assert.Equal(t, before, b.Settings(), "what is refused changes nothing")
	}
}

func TestABudgetIsReconfigured(t *testing.T) {
	mock := clock.NewMock()
	b, err := retry.NewBudget(retry.BudgetSettings{}, mock)
	require.NoError(t, err)
	for range 100 {
		require.NoError(t, b.Admit(t.Context(), 1))
	}
	require.NoError(t, b.Reconfigure(retry.BudgetSettings{Share: 0.5, Floor: -1}))
	requests, _ := b.Counts()
	assert.Equal(t, 100, requests, "what was counted stays")
	for range 100 {
		require.NoError(t, b.Admit(t.Context(), 2))
	}
	require.ErrorIs(t, b.Admit(t.Context(), 2), retry.ErrBudget)
	require.NoError(t, b.Reconfigure(retry.BudgetSettings{Window: time.Minute}))
	requests, _ = b.Counts()
	assert.Zero(t, requests, "with another window the counts begin anew")
	assert.Equal(t, retry.BudgetSettings{Share: 0.1, Window: time.Minute, Floor: 3}, b.Settings())
}

func TestAnExhaustedBudgetSaysSo(t *testing.T) {
	b, err := retry.NewBudget(retry.BudgetSettings{}, clock.NewMock())
	require.NoError(t, err)
	for attempt := range 2 { // 0: not known
		require.NoError(t, b.Admit(t.Context(), attempt))
	}
	for attempt := range 3 {
		require.NoError(t, b.Admit(t.Context(), attempt+2))
	}
	err = b.Admit(t.Context(), 2)
	require.ErrorIs(t, err, retry.ErrBudget)
	require.NotErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "retry: budget exhausted: 3 of 5 requests in 10s were retries, allowed are 10%")
	require.NoError(t, b.Admit(t.Context(), 1), "first attempts always go")
	b.Ended(t.Context(), 0)

	// The newest tenth of the window counts by itself, and the error says so.
	mock := clock.NewMock()
	b, err = retry.NewBudget(retry.BudgetSettings{}, mock)
	require.NoError(t, err)
	for range 1000 {
		require.NoError(t, b.Admit(t.Context(), 1))
	}
	mock.Add(5 * time.Second)
	for range 3 {
		require.NoError(t, b.Admit(t.Context(), 2))
	}
	require.EqualError(t, b.Admit(t.Context(), 2), "retry: budget exhausted: 3 of 3 requests in 1s were retries, allowed are 10%")
}

// Shared by any number of callers.
func TestManyShareABudget(t *testing.T) {
	b, err := retry.NewBudget(retry.BudgetSettings{Window: time.Hour}, nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 900 {
				_ = b.Admit(context.Background(), 1+i%2)
			}
		})
	}
	all.Wait()
	requests, retries := b.Counts()
	assert.Equal(t, 3600, requests-retries)
	assert.LessOrEqual(t, float64(retries), 0.1*float64(requests)+3)
	assert.GreaterOrEqual(t, retries, 300)
}
