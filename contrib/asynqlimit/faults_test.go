package asynqlimit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/asynqlimit"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// A handler that wants no retry wraps the refusal. The task was tried again until half of its time was over, and never archived.
func TestAHandlerMayEndARefusedTask(t *testing.T) {
	for _, word := range []error{asynq.SkipRetry, asynq.RevokeTask} {
		l, tried := attempttest.Limiter(t, aimd.Config{}), 0
		want := fmt.Errorf("%w: %w", &httplimit.StatusError{StatusCode: 503}, word)
		h := asynqlimit.Limit(&asynq.Config{}, l)(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
			tried++
			return want
		}))
		require.Equal(t, want, h.ProcessTask(t.Context(), asynq.NewTask("any", nil)))
		require.Equal(t, 1, tried)
		require.Equal(t, uint64(1), l.Snapshot().Overloads, "the limiter hears the refusal")
	}
}
