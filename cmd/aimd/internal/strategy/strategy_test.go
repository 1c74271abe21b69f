package strategy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/throttle"
)

// What is tried here for real is what the simulator shows.
func TestTheStrategiesAreTheSimulators(t *testing.T) {
	for _, s := range sim.Strategies() {
		got, known := Named(s.Name)
		assert.Equal(t, s.Name != "ethernet", known, s.Name)
		if known {
			assert.Equal(t, s, got)
		}
	}
	assert.Len(t, All(), len(sim.Strategies()), "without ethernet, with exponential")
}

// Every setting of the words reaches what runs: one that is not allowed is refused, by
// name, by whom it is meant for.
func TestNoSettingIsDropped(t *testing.T) {
	reno := func(change func(*sim.Strategy)) sim.Strategy {
		s := sim.Strategy{Name: "x", Window: sim.Window{Law: "reno"}}
		change(&s)
		return s
	}
	for want, s := range map[string]sim.Strategy{
		"factor":        reno(func(s *sim.Strategy) { s.Window.Factor = 2 }),
		"InitialWindow": reno(func(s *sim.Strategy) { s.Window.Initial = -1 }),
		"MaxWindow":     reno(func(s *sim.Strategy) { s.Window.Max = -1 }),
		"MinWindow":     reno(func(s *sim.Strategy) { s.Window.Min = -1 }),
		"MaxAttempts":   reno(func(s *sim.Strategy) { s.Attempts = -1 }),
		"Min: -1ns":     reno(func(s *sim.Strategy) { s.Retry = &backoff.Exponential{Min: -1} }),
		"Share":         reno(func(s *sim.Strategy) { s.Budget = 2 }),
		"K: 0.5":        {Throttle: 0.5},
		"Min: 1m0s":     {Retry: &backoff.Exponential{Min: time.Minute, Max: time.Second}},
	} {
		_, err := New(s)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "is not allowed")
	}
	s, err := New(reno(func(s *sim.Strategy) { s.Window.Initial, s.Window.NoPause = 3, true }))
	require.NoError(t, err)
	assert.Equal(t, 3.0, s.Limiter.Snapshot().Cwnd)
}

// A window with delays of its own, and a bound of attempts.
func TestAWindowWithDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(sim.Strategy{
			Name:   "x",
			Window: sim.Window{Law: "reno"},
			Retry:  &backoff.Exponential{Min: time.Hour, Factor: 1}, Attempts: 3,
		})
		require.NoError(t, err)
		defer s.Limiter.Close()
		began, n := time.Now(), 0
		broken := errors.New("connection reset")
		require.ErrorIs(t, s.Do(t.Context(), func(context.Context) error { n++; return broken }), broken)
		assert.Equal(t, 3, n)
		assert.Equal(t, 2*time.Hour, time.Since(began))
	})
}

func TestNamed(t *testing.T) {
	for _, name := range []string{"", "foo", "reno", "reno-", "reno-0", "reno-1", "reno-x", "reno-NaN", "tahoe--0.5", "probe-0.5", "cubic-0.5", "-0.5"} {
		_, known := Named(name)
		assert.False(t, known, name)
	}
	s, known := Named("tahoe-0.75")
	require.True(t, known)
	assert.Equal(t, sim.Strategy{Name: "tahoe-0.75", Window: sim.Window{Law: "tahoe", Factor: 0.75}}, s)
}

// The figures of the text's program, in the text's loop.
func TestExponentialIsThatOfTheProgram(t *testing.T) {
	assert.Equal(t, &backoff.Exponential{Min: 100 * time.Millisecond, Max: 5 * time.Minute, Factor: 2.71828, Jitter: backoff.Normal(0.1), Compound: true}, Exponential().Retry)
}

func TestEveryStrategyEndsWithSuccess(t *testing.T) {
	for _, chosen := range All() {
		t.Run(chosen.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(chosen)
				require.NoError(t, err)
				for range 10 { // or the throttle knows of nothing but failure
					require.NoError(t, s.Do(t.Context(), func(context.Context) error { return nil }))
				}
				n := 0
				err = s.Do(t.Context(), func(context.Context) error {
					if n++; n == 1 {
						return context.DeadlineExceeded
					}
					return nil
				})
				if chosen.Name == "none" {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					assert.Equal(t, 1, n)
				} else {
					require.NoError(t, err)
					assert.Equal(t, 2, n)
				}
				assert.Equal(t, chosen.Window.Law != "", s.Limiter != nil)
			})
		})
	}
}

// All clients share the budget and the throttle, as they do the window.
func TestGuardsAreShared(t *testing.T) {
	for name, want := range map[string]error{"backoff-budget": retry.ErrBudget, "backoff-throttle": throttle.ErrThrottled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chosen, _ := Named(name)
				s, err := New(chosen)
				require.NoError(t, err)
				guarded := 0
				for range 100 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err := s.Do(ctx, func(context.Context) error { return context.DeadlineExceeded })
					cancel()
					if errors.Is(err, want) {
						guarded++
					}
				}
				assert.Greater(t, guarded, 50)
			})
		})
	}
}
