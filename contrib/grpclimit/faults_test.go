package grpclimit_test

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
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// A call that is too late is not sent. To status.Code that was UNKNOWN through Do, and after a refusal RESOURCE_EXHAUSTED.
func TestACallThatIsTooLateIsADeadline(t *testing.T) {
	trip := func(context.Context) error { time.Sleep(140 * time.Millisecond); return nil }
	refused := func(context.Context) error { return status.Error(codes.ResourceExhausted, "later") }
	for name, door := range map[string]func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error{
		"Limit": func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
			return invoke(ctx, watched{Limiter: l}, fn)
		},
		"Retry": func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
			return grpclimit.RetryInterceptor(l.Do)(ctx, "/service/method", nil, nil, nil,
				func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
					return fn(ctx)
				})
		},
		"Do": grpclimit.Do,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := attempttest.Limiter(t, aimd.Config{MaxWindow: 1})
			require.NoError(t, door(t.Context(), l, trip))

			slot, err := l.Acquire(t.Context())
			require.NoError(t, err)
			time.AfterFunc(140*time.Millisecond, func() { slot.End(nil) })
			ctx, cancel := context.WithTimeout(t.Context(), 230*time.Millisecond)
			defer cancel()
			err = door(ctx, l, trip)
			assert.Equal(t, codes.DeadlineExceeded, status.Code(err), "%s: %v", name, err)
			assert.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.ErrorContains(t, err, "desc = grpclimit: not sent: 90ms left, answers take 140ms", name)

			if name == "Limit" {
				return // one attempt
			}
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err = door(ctx, l, refused)
			assert.Equal(t, codes.DeadlineExceeded, status.Code(err), "%s: %v", name, err)
		})
	}
}

// Four watches held the four slots, and a call waited for ever. In HTTP they leave the window, one by one.
func TestWatchesDoNotHoldTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{InitialWindow: 4})
		atRest(t, l)
		client := to(t, &service{duplex: func(s duplexServer) error {
			_ = s.Send(&pb.StreamingOutputCallResponse{})
			<-s.Context().Done()
			return nil
		}}, grpclimit.Limit(l)...)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer synctest.Wait()
		defer cancel()
		for i := range 4 {
			watch, err := client.FullDuplexCall(ctx)
			require.NoError(t, err)
			if _, err = watch.Header(); i > 0 { // either is enough
				_, err = watch.Recv()
			}
			require.NoError(t, err)
		}
		for range 9 {
			require.NoError(t, call(ctx, client))
		}
		require.Equal(t, 1, l.Snapshot().Open)
	})
}
