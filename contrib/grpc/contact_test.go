package aimdgrpc_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/window"
)

// Whoever holds a slot waits for no other: the interceptors of a client in both orders, over a window of
// one, lose no call.
func TestLimitAndRetryInBothOrders(t *testing.T) {
	for name, order := range map[string]func(l *aimd.Limiter) []grpc.DialOption{
		"Retry before Limit": func(l *aimd.Limiter) []grpc.DialOption {
			return append([]grpc.DialOption{aimdgrpc.Retry(l.Do)}, aimdgrpc.Limit(l)...)
		},
		"Limit before Retry": func(l *aimd.Limiter) []grpc.DialOption {
			return append(aimdgrpc.Limit(l), aimdgrpc.Retry(l.Do))
		},
		"Limit twice": func(l *aimd.Limiter) []grpc.DialOption {
			return append(append([]grpc.DialOption{aimdgrpc.Retry(l.Do)}, aimdgrpc.Limit(l)...), aimdgrpc.Limit(l)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{errs: []error{refused, refused, refused}}
				l, err := aimd.NewReno(aimd.WithInitialWindow(1), aimd.WithMaxWindow(1))
				require.NoError(t, err)
				client, conn := dial(t, "any", append(order(l), inMemory(t, f.service()))...)
				defer conn.Close()
				for range 5 {
					require.NoError(t, call(t.Context(), client))
				}
				assert.Equal(t, 8, f.calls)
				assert.Zero(t, l.Snapshot().InFlight)
			})
		})
	}
}

// A wrong port is told within 10 s, and a server that goes away later ends no call.
func TestAWrongPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		l, err := aimd.NewReno()
		require.NoError(t, err)
		server := inMemoryDialer(t, &service{})
		client, conn := dial(t, "any", append([]grpc.DialOption{aimdgrpc.Retry(l.Do), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if away.Load() {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.UnknownNetworkError("refused")}
			}
			return server(ctx)
		})}, aimdgrpc.Limit(l)...)...)
		defer conn.Close()
		start := time.Now()
		err = call(t.Context(), client)
		require.ErrorIs(t, err, attempt.ErrNoContact)
		require.Regexp(t, "^gave up after [0-9]+ attempts: the service has never answered in 10s; last error: rpc error", err.Error())
		requireCode(t, codes.Unavailable, err)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
		require.EqualValues(t, 20, l.State().Cwnd, "nothing was learned")

		away.Store(false)
		time.Sleep(time.Minute) // until gRPC dials again
		require.NoError(t, call(t.Context(), client))
	})
}

// A stream that cannot be opened says so too: there is nobody on port 1.
func TestAWrongPortOfAStream(t *testing.T) {
	l, err := aimd.NewReno(aimd.WithFirstContact(time.Nanosecond))
	require.NoError(t, err)
	client, _ := dial(t, "127.0.0.1:1", aimdgrpc.Limit(l)...)
	_, err = client.FullDuplexCall(t.Context()) // from here on the time counts
	requireCode(t, codes.Unavailable, err)
	_, err = client.FullDuplexCall(t.Context())
	require.ErrorIs(t, err, attempt.ErrNoContact)
	requireCode(t, codes.Unavailable, err)
}

func quotaFailure(details ...*errdetails.RetryInfo) error {
	s, err := status.New(codes.ResourceExhausted, "too much").WithDetails(&errdetails.QuotaFailure{})
	for _, d := range details {
		if err == nil {
			s, err = s.WithDetails(d)
		}
	}
	if err != nil {
		panic(err)
	}
	return s.Err()
}

// A QuotaFailure is final, unless the service says when to come back.
func TestOutOfQuota(t *testing.T) {
	assert.Equal(t, attempt.Verdict{Outcome: window.Neutral, Reason: attempt.ErrQuota}, aimdgrpc.Classify(quotaFailure()))
	soon := &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)}
	assert.Equal(t, attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: time.Second}, aimdgrpc.Classify(quotaFailure(soon)))

	l := one(t)
	f := &failing{errs: []error{quotaFailure(), quotaFailure()}}
	client, _ := dial(t, start(t, f.service()), append([]grpc.DialOption{aimdgrpc.Retry(l.Do)}, aimdgrpc.Limit(l.Limiter)...)...)
	err := call(t.Context(), client)
	require.ErrorIs(t, err, attempt.ErrQuota)
	requireCode(t, codes.ResourceExhausted, err)
	require.ErrorContains(t, err, "out of quota")
	assert.Equal(t, 1, f.calls)
	l.told(window.Neutral)
}

// A stream says so too, with the answer or with the header before it.
func TestAStreamThatIsOutOfQuota(t *testing.T) {
	for name, read := range map[string]func(grpc.ServerStreamingClient[pb.StreamingOutputCallResponse]) error{
		"Recv": func(s grpc.ServerStreamingClient[pb.StreamingOutputCallResponse]) error {
			_, err := s.Recv()
			return err
		},
		"Header": func(s grpc.ServerStreamingClient[pb.StreamingOutputCallResponse]) error {
			_, _ = s.Header() // an answer that is nothing but an error has none
			_, err := s.Recv()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := one(t)
			none := &service{output: func(grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error { return quotaFailure() }}
			client, _ := dial(t, start(t, none), aimdgrpc.Limit(l.Limiter)...)
			stream, err := client.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
			require.NoError(t, err)
			err = read(stream)
			require.ErrorIs(t, err, attempt.ErrQuota)
			require.ErrorContains(t, err, "out of quota")
			requireCode(t, codes.ResourceExhausted, err)
			l.told(window.Neutral)
		})
	}
}

// A port where something listens and hangs up is a wrong port too.
func TestAPortThatHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New()
		require.NoError(t, err)
		client, conn := dial(t, "any", append([]grpc.DialOption{aimdgrpc.Retry(l.Do), grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			return here, there.Close()
		})}, aimdgrpc.Limit(l)...)...)
		defer conn.Close()
		start := time.Now()
		err = call(t.Context(), client)
		require.ErrorIs(t, err, attempt.ErrNoContact)
		requireCode(t, codes.Unavailable, err)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
	})
}
