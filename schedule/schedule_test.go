package schedule_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/schedule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// period is that of [SafeClients], "300 // Once every 5 minutes", and epoch is on its grid.
const period = 300 * time.Second

var epoch = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func newSchedule(t *testing.T) *schedule.Schedule {
	t.Helper()
	s, err := schedule.New(schedule.Config{Period: period, Rand: rand.New(rand.NewPCG(1, 1))})
	require.NoError(t, err)
	return s
}

// start calls Run and returns where its result will be.
func start(ctx context.Context, s *schedule.Schedule, job func(context.Context)) <-chan error {
	result := make(chan error, 1)
	go func() { result <- s.Run(ctx, job) }()
	synctest.Wait()
	return result
}

func TestRunRunsOnceInEachCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t)
		ctx, cancel := context.WithCancel(t.Context())
		var began []time.Time
		begin := time.Now().Truncate(period)
		result := start(ctx, s, func(context.Context) {
			began = append(began, time.Now())
			time.Sleep(time.Second)
		})
		time.Sleep(100 * period)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		require.Len(t, began, 99, "and none in the cell of the start")
		for i, at := range began {
			assert.Equal(t, begin.Add(time.Duration(i+1)*period), at.Truncate(period))
		}
		snap := s.Snapshot()
		assert.EqualValues(t, 99, snap.Runs)
		assert.Zero(t, snap.Missed)
		assert.Equal(t, period, snap.Period)
	})
}

func TestTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, s.Run(ctx, func(context.Context) { t.Error("no run") }), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(begin))
		require.ErrorIs(t, s.Run(ctx, func(context.Context) { t.Error("no run") }), context.DeadlineExceeded)
	})
}

func TestTheContextReachesTheJobAndIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		result := start(ctx, s, func(ctx context.Context) {
			assert.Zero(t, s.Snapshot().Next, "one is under way")
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
		})
		time.Sleep(2 * period)
		cancel()
		synctest.Wait()
		assert.Empty(t, result, "not before the job")
		require.ErrorIs(t, <-result, context.Canceled)
		assert.True(t, ended)

		// Run may be called again, and the plan is kept.
		ctx, cancel = context.WithCancel(t.Context())
		runs := 0
		result = start(ctx, s, func(context.Context) { runs++ })
		time.Sleep(10 * period)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		assert.InDelta(t, 9, runs, 1)
	})
}

func TestNeverTwoJobsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t)
		ctx, cancel := context.WithCancel(t.Context())
		jobs, runs := 0, 0
		result := start(ctx, s, func(context.Context) {
			jobs++
			assert.Equal(t, 1, jobs)
			time.Sleep(5*period + period/2)
			jobs--
			runs++
		})
		require.EqualError(t, s.Run(t.Context(), func(context.Context) { t.Error("no run") }), "schedule: runs already")
		time.Sleep(65 * period)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		assert.InDelta(t, 10, runs, 1, "what is missed collapses")
		assert.InDelta(t, 10, s.Snapshot().Missed, 1)
		assert.EqualValues(t, runs, s.Snapshot().Runs)
	})
}

func TestThePeriodChangesWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t)
		ctx, cancel := context.WithCancel(t.Context())
		result := start(ctx, s, func(context.Context) {})
		require.EqualError(t, s.SetPeriod(1), "schedule: Period: 1ns is not allowed, want a duration from 10ms to 8760h0m0s")
		require.NoError(t, s.SetPeriod(time.Second))
		assert.Less(t, time.Until(s.Snapshot().Next), 2*time.Second)
		time.Sleep(60 * time.Second)
		assert.InDelta(t, 59, s.Snapshot().Runs, 1)
		require.NoError(t, s.SetPeriod(time.Hour))
		require.NoError(t, s.SetPeriod(time.Hour))
		time.Sleep(24 * time.Hour)
		assert.InDelta(t, 59+24, s.Snapshot().Runs, 2)
		assert.Equal(t, time.Hour, s.Snapshot().Period)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		assert.NoError(t, s.SetPeriod(0), "harmless after the end")
		assert.Equal(t, period, s.Snapshot().Period, "the one of its own")
	})
}

func TestAPanicGoesToTheCallerAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t)
		require.PanicsWithValue(t, "oops", func() {
			_ = s.Run(t.Context(), func(context.Context) { panic("oops") })
		})
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		require.ErrorIs(t, s.Run(ctx, func(context.Context) { runs++; cancel() }), context.Canceled, "it may be run again")
		assert.Equal(t, 1, runs)
	})
}

// The clock jumps, as it does if the machine slept.
func TestAfterALongSleepNothingIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := clock.NewMock()
		m.Set(epoch)
		s, err := schedule.NewOn(m, schedule.Config{Period: period})
		require.NoError(t, err)
		planned := s.Snapshot().Next
		m.Set(epoch.Add(20*period + period/2)) // nobody waits yet
		ctx, cancel := context.WithCancel(t.Context())
		var ran []time.Time
		result := start(ctx, s, func(context.Context) { ran = append(ran, m.Now()) })
		assert.EqualValues(t, 1, s.Snapshot().Missed)
		next := s.Snapshot().Next
		assert.Equal(t, epoch.Add(21*period), next.Truncate(period), "planned anew, was %v", planned)
		m.Set(next.Add(-1))
		synctest.Wait()
		assert.Empty(t, ran)
		m.Set(next)
		synctest.Wait()
		assert.Equal(t, []time.Time{next}, ran)
		assert.EqualValues(t, 1, s.Snapshot().Runs)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
	})
}
