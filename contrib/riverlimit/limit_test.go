package riverlimit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/riverlimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

func newLimiter(t *testing.T, config aimd.Config) *aimd.Limiter {
	config.InitialWindow, config.MaxWindow = 1, 1
	return attempttest.Limiter(t, config)
}

func middleware(t *testing.T, c *river.Config, s riverlimit.Settings) rivertype.WorkerMiddleware {
	require.NoError(t, riverlimit.LimitBy(c, s))
	require.NotEmpty(t, c.Middleware)
	return c.Middleware[len(c.Middleware)-1].(rivertype.WorkerMiddleware)
}

func nothing(context.Context) error { return nil }

// A job that waits for half of the time until it is rescued is snoozed.
func TestAJobIsSnoozedBeforeItIsRescued(t *testing.T) {
	for _, c := range []struct {
		config river.Config
		want   time.Duration
	}{
		{river.Config{}, 30 * time.Minute},
		{river.Config{JobTimeout: 2 * time.Hour}, 90 * time.Minute},
		{river.Config{JobTimeout: time.Second, RescueStuckJobsAfter: time.Minute}, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, aimd.Config{})
			p, err := l.Acquire(t.Context())
			require.NoError(t, err)
			m, began := middleware(t, &c.config, riverlimit.Settings{Limiter: l}), time.Now()
			require.Equal(t, river.JobSnooze(5*time.Second), m.Work(t.Context(), &rivertype.JobRow{}, nothing))
			require.Equal(t, c.want, time.Since(began))
			p.End(nil)
			require.NoError(t, m.Work(t.Context(), &rivertype.JobRow{}, nothing))
		})
	}
}

// Jobs that wait when the limiter is closed are snoozed at once.
func TestAClosedLimiterHandsJobsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, aimd.Config{})
		_, err := l.Acquire(t.Context())
		require.NoError(t, err)
		m := middleware(t, &river.Config{}, riverlimit.Settings{Limiter: l})
		time.AfterFunc(time.Minute, func() { _ = l.Close() })
		began := time.Now()
		require.Equal(t, river.JobSnooze(0), m.Work(t.Context(), &rivertype.JobRow{}, nothing))
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// river decides about a job whose context ended: this error is how it knows.
func TestACancelledJobIsRivers(t *testing.T) {
	l := newLimiter(t, aimd.Config{})
	_, err := l.Acquire(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = middleware(t, &river.Config{}, riverlimit.Settings{Limiter: l}).Work(ctx, &rivertype.JobRow{}, nothing)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, river.JobSnooze(0))
}

// Each job has the limiter of its key, or none.
func TestTheLimiterOfAJob(t *testing.T) {
	l, errWrong, errWork := newLimiter(t, aimd.Config{}), errors.New("no such tenant"), errors.New("no such file")
	m := middleware(t, &river.Config{}, riverlimit.Settings{Of: func(row *rivertype.JobRow) (*aimd.Limiter, error) {
		switch row.Queue {
		case "wrong":
			return nil, errWrong
		case "free":
			return nil, nil
		}
		return l, nil
	}})
	var held []bool
	work := func(context.Context) error {
		held = append(held, l.Snapshot().InFlight == 1)
		return errWork
	}
	require.Equal(t, errWrong, m.Work(t.Context(), &rivertype.JobRow{Queue: "wrong"}, work))
	require.Equal(t, errWork, m.Work(t.Context(), &rivertype.JobRow{Queue: "free"}, work))
	require.Equal(t, errWork, m.Work(t.Context(), &rivertype.JobRow{Queue: "limited"}, work))
	require.Equal(t, []bool{false, true}, held)
	require.Zero(t, l.Snapshot().InFlight)
}

func TestWrongSettings(t *testing.T) {
	assert.EqualError(t, riverlimit.LimitBy(nil, riverlimit.Settings{}), "riverlimit: config: nil is not allowed")
	assert.EqualError(t, riverlimit.LimitBy(&river.Config{}, riverlimit.Settings{}),
		"riverlimit: Limiter: nil is not allowed, want either Limiter or Of")
	of := func(*rivertype.JobRow) (*aimd.Limiter, error) { return nil, nil }
	assert.EqualError(t, riverlimit.LimitBy(&river.Config{}, riverlimit.Settings{Limiter: newLimiter(t, aimd.Config{}), Of: of}),
		"riverlimit: Of: a function is not allowed, want either Limiter or Of")
}
