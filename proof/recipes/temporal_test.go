package recipes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

type limit struct {
	interceptor.WorkerInterceptorBase
	lim *aimd.Limiter
}

func (l *limit) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &limitedActivity{interceptor.ActivityInboundInterceptorBase{Next: next}, l.lim}
}

type limitedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	lim *aimd.Limiter
}

func (a *limitedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := aimd.Do(ctx, a.lim, func(ctx context.Context) (any, error) { return a.Next.ExecuteActivity(ctx, in) })
	if errors.Is(err, aimd.ErrClosed) { // the worker stops
		return nil, temporal.NewApplicationErrorWithOptions("handed back", "aimd",
			temporal.ApplicationErrorOptions{Cause: err, NextRetryDelay: time.Second})
	}
	return result, err
}

// An activity is called again until the service accepts it. Of a limiter that is closed it is handed back.
func TestTemporal(t *testing.T) {
	lim := newLimiter(t, aimd.Config{})
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	options := worker.Options{Interceptors: []interceptor.WorkerInterceptor{&limit{lim: lim}}}
	env.SetWorkerOptions(options)
	calls := 0
	upload := func(context.Context) (string, error) {
		if calls++; calls < 3 {
			return "", &httplimit.StatusError{StatusCode: 503}
		}
		return "done", nil
	}
	env.RegisterActivity(upload)
	got, err := env.ExecuteActivity(upload)
	require.NoError(t, err)
	var text string
	require.NoError(t, got.Get(&text))
	require.Equal(t, "done", text)
	require.EqualValues(t, 3, lim.Snapshot().Attempts)

	require.NoError(t, lim.Shutdown(t.Context()))
	_, err = env.ExecuteActivity(upload)
	var back *temporal.ApplicationError
	require.ErrorAs(t, err, &back)
	require.Equal(t, time.Second, back.NextRetryDelay())
}
