package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a limiter that reports how every attempt ended.
type watched struct {
	*aimd.Limiter
	t *testing.T
	// outcomes has the attempts' outcomes, in order.
	outcomes chan window.Outcome
}

// one returns a limiter with a single slot. After the test it must be free, and never released twice.
func one(t *testing.T, config aimd.Config) watched {
	t.Helper()
	w := watched{t: t, outcomes: make(chan window.Outcome, 100)}
	config.Law, config.InitialWindow, config.MaxWindow = aimd.Reno(0.5), 1, 1
	config.PauseMin, config.PauseMax = time.Millisecond, time.Millisecond
	config.Observer = func(e aimd.Event) {
		if e.Outcome.Valid() {
			w.outcomes <- e.Outcome
		}
	}
	l, err := aimd.New(config)
	require.NoError(t, err)
	w.Limiter = l
	atRest(t, l)
	t.Cleanup(func() { assert.Empty(t, w.outcomes, "answers the test did not expect") })
	return w
}

// atRest checks after the test that the limiter has nothing to do, and that no slot was released twice.
func atRest(t *testing.T, l *aimd.Limiter) {
	t.Cleanup(func() {
		attempttest.Idle(t, l)
	})
}

// told asserts that the next attempts have ended already, and how.
func (w watched) told(want ...window.Outcome) {
	w.t.Helper()
	for _, want := range want {
		require.NotEmpty(w.t, w.outcomes, "the slot was not released at once")
		require.Equal(w.t, want, <-w.outcomes)
	}
}

// held asserts that the slot is held, and was not released before, once all is at rest, in a bubble.
func (w watched) held() {
	w.t.Helper()
	require.Equal(w.t, 1, w.Snapshot().InFlight, "in flight")
	require.Empty(w.t, w.outcomes, "released already")
}

// service is a server's side.
type service struct {
	pb.UnimplementedTestServiceServer
	// answers ends a call, and a duplex stream when it begins; nil: a call ends well.
	answers func(ctx context.Context, trailer func(metadata.MD)) error
	// duplex ends a duplex stream; nil without answers: each message comes back.
	duplex func(duplexServer) error
}

type duplexServer = grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]

// always is a service that ends each call, and each duplex stream, with that error.
func always(err error) *service {
	return &service{answers: func(context.Context, func(metadata.MD)) error { return err }}
}

func (s *service) UnaryCall(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if s.answers != nil {
		if err := s.answers(ctx, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) }); err != nil {
			return nil, err
		}
	}
	return &pb.SimpleResponse{Payload: req.GetPayload()}, nil
}

// StreamingOutputCall sends three messages.
func (s *service) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for range 3 {
		if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// StreamingInputCall answers with the number of messages.
func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	for n := int32(0); ; n++ {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: n})
		} else if err != nil {
			return err
		}
	}
}

func (s *service) FullDuplexCall(stream duplexServer) error {
	switch {
	case s.duplex != nil:
		return s.duplex(stream)
	case s.answers != nil:
		return s.answers(stream.Context(), stream.SetTrailer)
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.Send(&pb.StreamingOutputCallResponse{Payload: req.GetPayload()})
		}
		if err != nil {
			return err
		}
	}
}

// serve starts a server in memory. It returns the option that dials it, whatever the address, and what stops it.
func serve(t *testing.T, s pb.TestServiceServer, opts ...grpc.ServerOption) (grpc.DialOption, func()) {
	listener, server := bufconn.Listen(1<<16), grpc.NewServer(opts...)
	pb.RegisterTestServiceServer(server, s)
	healthpb.RegisterHealthServer(server, health.NewServer())
	served := async(func() error { return server.Serve(listener) })
	stop := sync.OnceFunc(func() { server.Stop(); <-served })
	t.Cleanup(stop)
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }), stop
}

// dial returns a client, and its connection.
func dial(t *testing.T, opts ...grpc.DialOption) (pb.TestServiceClient, *grpc.ClientConn) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///any", append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewTestServiceClient(conn), conn
}

// to returns a client of a server with the service.
func to(t *testing.T, s *service, opts ...grpc.DialOption) pb.TestServiceClient {
	t.Helper()
	dialer, _ := serve(t, s)
	client, _ := dial(t, append(opts, dialer)...)
	return client
}

// retried are the options of a client whose calls the limiter tries again.
func retried(l *aimd.Limiter) []grpc.DialOption {
	return append([]grpc.DialOption{grpclimit.Retry(l.Do)}, grpclimit.Limit(l)...)
}

func call(ctx context.Context, client pb.TestServiceClient, opts ...grpc.CallOption) error {
	_, err := client.UnaryCall(ctx, &pb.SimpleRequest{}, opts...)
	return err
}

// stream opens a stream, and waits for its first message or its end.
func stream(ctx context.Context, client pb.TestServiceClient, opts ...grpc.CallOption) error {
	s, err := client.FullDuplexCall(ctx, opts...)
	if err != nil {
		return err
	}
	if _, err = s.Recv(); err == io.EOF {
		return nil
	}
	return err
}

// both are the ways to use a client.
var both = map[string]func(context.Context, pb.TestServiceClient, ...grpc.CallOption) error{"call": call, "stream": stream}

func requireCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, status.Code(err), "want %v, got %v", want, err)
}

// queued asserts that so many wait for a slot or a place once all is at rest, in a bubble.
func queued(t *testing.T, want int, get func() int) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, want, get(), "queued")
}

// refused is how a service says that it is too much.
var refused = status.Error(codes.ResourceExhausted, "too much")

// async runs f on a goroutine of its own.
func async(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}
