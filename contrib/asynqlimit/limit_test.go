package asynqlimit_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/asynqlimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

func TestAHandedBackTaskHasNotFailed(t *testing.T) {
	for _, c := range []struct {
		config asynq.Config
		fails  bool
		delay  time.Duration
	}{
		{asynq.Config{}, true, 81 * time.Second}, // asynq's own, at least
		{asynq.Config{
			IsFailure:      func(err error) bool { return !errors.Is(err, io.EOF) },
			RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
		}, false, time.Hour},
	} {
		asynqlimit.Limit(&c.config, attempttest.Limiter(t, aimd.Config{}))
		require.False(t, c.config.IsFailure(asynqlimit.ErrHandedBack))
		require.Equal(t, c.fails, c.config.IsFailure(io.EOF))
		require.True(t, c.config.IsFailure(io.ErrNoProgress))
		require.Zero(t, c.config.RetryDelayFunc(3, asynqlimit.ErrHandedBack, nil))
		require.GreaterOrEqual(t, c.config.RetryDelayFunc(3, io.EOF, nil), c.delay)
	}
}

// Each task has the limiter of its key, or none.
func TestTheLimiterOfATask(t *testing.T) {
	l, errWrong, errWork := attempttest.Limiter(t, aimd.Config{}), errors.New("no such tenant"), errors.New("no such file")
	limit, err := asynqlimit.LimitBy(&asynq.Config{}, asynqlimit.Settings{Of: func(_ context.Context, task *asynq.Task) (*aimd.Limiter, error) {
		switch task.Type() {
		case "wrong":
			return nil, errWrong
		case "free":
			return nil, nil
		}
		return l, nil
	}})
	require.NoError(t, err)
	var held []bool
	h := limit(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		held = append(held, l.Snapshot().InFlight == 1)
		return errWork
	}))
	for kind, want := range map[string]error{"wrong": errWrong, "free": errWork} {
		require.Equal(t, want, h.ProcessTask(t.Context(), asynq.NewTask(kind, nil)))
	}
	require.Equal(t, []bool{false}, held)
	require.ErrorIs(t, h.ProcessTask(t.Context(), asynq.NewTask("limited", nil)), errWork)
	require.True(t, held[1])
	require.Zero(t, l.Snapshot().InFlight)
}

// Outside of a server there is nobody to hand a task back to.
func TestATaskWithoutAServerWaitsForItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		require.NoError(t, l.Close())
		limit, err := asynqlimit.LimitBy(&asynq.Config{}, asynqlimit.Settings{Limiter: l})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err = limit(asynq.NotFoundHandler()).ProcessTask(ctx, asynq.NewTask("any", nil))
		require.NotErrorIs(t, err, asynqlimit.ErrHandedBack)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestWrongSettings(t *testing.T) {
	_, err := asynqlimit.LimitBy(nil, asynqlimit.Settings{Limiter: attempttest.Limiter(t, aimd.Config{})})
	assert.EqualError(t, err, "asynqlimit: config: nil is not allowed")
	_, err = asynqlimit.LimitBy(&asynq.Config{}, asynqlimit.Settings{})
	assert.EqualError(t, err, "asynqlimit: Limiter: nil is not allowed, want either Limiter or Of")
	of := func(context.Context, *asynq.Task) (*aimd.Limiter, error) { return nil, nil }
	_, err = asynqlimit.LimitBy(&asynq.Config{}, asynqlimit.Settings{Limiter: attempttest.Limiter(t, aimd.Config{}), Of: of})
	assert.EqualError(t, err, "asynqlimit: Of: a function is not allowed, want either Limiter or Of")
}
