package aimdgrpc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/aimd-go/aimd/admission"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
)

// A server that admits 16, and a client with a limiter that knows nothing of it.
func TestBothEndsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		controller, err := admission.New(admission.Fixed(16), admission.Config{
			QueueBound: 4, RetryAfterMin: 100 * time.Millisecond,
		})
		require.NoError(t, err)
		admit, err := aimdgrpc.Admit(controller, aimdgrpc.ServerConfig{Code: codes.ResourceExhausted})
		require.NoError(t, err)
		l, c := loaded(t), &capped{}
		client, _ := dial(t, "any", append(aimdgrpc.Limit(l), inMemory(t, c.service(), admit...))...)
		c.runs(t, l.Do, ask(client))
		s := controller.Snapshot()
		t.Log(s)
		assert.Zero(t, c.refused.Load(), "the service behind is never asked for more than it takes")
		assert.EqualValues(t, 500, s.Successes)
		assert.Zero(t, s.InFlight)
		assert.Zero(t, s.Queued)
		assert.Less(t, l.Snapshot().Attempts(), uint64(750), "attempts for 500 operations")
	})
}

// gRPC's own retries know nothing of RetryInfo, but wait for a pushback.
func TestGRPCsOwnRetriesWaitAsLongAsTheyAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := admission.New(admission.Fixed(1), admission.Config{QueueBound: -1, RetryAfterMin: 100 * time.Millisecond})
		require.NoError(t, err)
		var retried time.Duration
		shed := time.Time{}
		admit, err := aimdgrpc.Admit(c, aimdgrpc.ServerConfig{})
		require.NoError(t, err)
		release := held(t, c)
		watch := grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if shed.IsZero() {
				shed = time.Now()
				defer release()
			} else {
				retried = time.Since(shed)
			}
			return handle(ctx, req)
		})
		client, _ := dial(t, "any", inMemory(t, &service{}, append([]grpc.ServerOption{watch}, admit...)...), grpc.WithDefaultServiceConfig(`{"methodConfig": [{
			"name": [{}], "retryPolicy": {
				"maxAttempts": 2, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]
			}}]}`))
		_, err = client.UnaryCall(t.Context(), &pb.SimpleRequest{})
		require.NoError(t, err)
		// A request is taken to last 100 ms as yet, and half of the place is for those that return: 200
		// ms, jittered, and up to the next millisecond.
		assert.GreaterOrEqual(t, retried, 100*time.Millisecond)
		assert.LessOrEqual(t, retried, 301*time.Millisecond)
	})
}
