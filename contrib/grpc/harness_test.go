package aimdgrpc_test

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
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/aimd-go/aimd"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
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

// watch returns a limiter with the options. After the test all slots must be free, and none released
// twice.
func watch(t *testing.T, config aimd.Config) watched {
	t.Helper()
	w := watched{t: t, outcomes: make(chan window.Outcome, 10_000)}
	config.Law = aimd.Reno(0.5)
	config.Observer = func(e aimd.Event) {
		if e.Outcome.Valid() {
			w.outcomes <- e.Outcome
		}
	}
	l, err := aimd.New(config)
	require.NoError(t, err)
	w.Limiter = l
	t.Cleanup(func() {
		s := l.Snapshot()
		assert.Zero(t, s.InFlight, "in flight at the end")
		assert.Zero(t, s.Queued, "queued at the end")
		assert.Zero(t, s.Late, "slots released twice")
		assert.Empty(t, w.outcomes, "answers the test did not expect")
	})
	return w
}

// one returns a limiter with a single slot.
func one(t *testing.T, config aimd.Config) watched {
	t.Helper()
	config.InitialWindow = 1
	config.MaxWindow = 1
	config.PauseMin = time.Millisecond
	config.PauseMax = time.Millisecond
	return watch(t, config)
}

// ended waits until the next attempt ended, and says how.
func (w watched) ended(want window.Outcome) {
	w.t.Helper()
	select {
	case got := <-w.outcomes:
		require.Equal(w.t, want, got, "want %v, got %v", want, got)
	case <-time.After(time.Minute):
		require.FailNow(w.t, "the slot was not released")
	}
}

// told asserts that the attempt has ended already, and how.
func (w watched) told(want window.Outcome) {
	w.t.Helper()
	require.NotEmpty(w.t, w.outcomes, "the slot was not released at once")
	w.ended(want)
}

// held asserts that so many slots are held, and none was released.
func (w watched) held(n int) {
	w.t.Helper()
	require.Equal(w.t, n, w.Snapshot().InFlight, "in flight")
	require.Empty(w.t, w.outcomes, "released already")
}

// waiting asserts that so many calls are in the queue once all is at rest, in a bubble.
func (w watched) waiting(n int) {
	w.t.Helper()
	synctest.Wait()
	assert.Equal(w.t, n, w.Snapshot().Queued, "queued")
}

// service is a server's side made of functions; nil answers at once, and well.
type service struct {
	pb.UnimplementedTestServiceServer
	unary  func(context.Context, *pb.SimpleRequest) error
	output func(grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error
	input  func(grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error
	duplex func(duplexServer) error
}

type (
	duplexServer = grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]
	duplexClient = grpc.BidiStreamingClient[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]
)

func (s *service) UnaryCall(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if s.unary != nil {
		if err := s.unary(ctx, req); err != nil {
			return nil, err
		}
	}
	return &pb.SimpleResponse{Payload: req.GetPayload()}, nil
}

// StreamingOutputCall sends three messages.
func (s *service) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	if s.output != nil {
		return s.output(stream)
	}
	for range 3 {
		if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// StreamingInputCall answers with the number of messages.
func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	if s.input != nil {
		return s.input(stream)
	}
	for n := int32(0); ; n++ {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: n})
		} else if err != nil {
			return err
		}
	}
}

// FullDuplexCall sends every message back.
func (s *service) FullDuplexCall(stream duplexServer) error {
	if s.duplex != nil {
		return s.duplex(stream)
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: req.GetPayload()}); err != nil {
			return err
		}
	}
}

// start starts a server on the loopback.
func start(t testing.TB, s *service, opts ...grpc.ServerOption) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(serve(listener, s, opts...))
	return listener.Addr().String()
}

// serve serves until stop.
func serve(listener net.Listener, s *service, opts ...grpc.ServerOption) (stop func()) {
	server := grpc.NewServer(opts...)
	pb.RegisterTestServiceServer(server, s)
	healthpb.RegisterHealthServer(server, health.NewServer())
	served := async(func() error { return server.Serve(listener) })
	return sync.OnceFunc(func() { server.Stop(); <-served })
}

// inMemory starts a server whose connections are pipes, for a test on virtual time, and returns what
// dials it.
func inMemory(t *testing.T, s *service, opts ...grpc.ServerOption) grpc.DialOption {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	t.Cleanup(serve(listener, s, opts...))
	return dialing(listener.DialContext)
}

// dialing dials in that way, whatever the address.
func dialing(dial func(context.Context) (net.Conn, error)) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) })
}

// dial returns a client of the server, and its connection.
func dial(t testing.TB, address string, opts ...grpc.DialOption) (pb.TestServiceClient, *grpc.ClientConn) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewTestServiceClient(conn), conn
}

// limited returns a client with the limiter of a server with the service.
func limited(t *testing.T, l watched, s *service, opts ...grpc.DialOption) pb.TestServiceClient {
	t.Helper()
	client, _ := dial(t, "any", append(append(aimdgrpc.Limit(l.Limiter), inMemory(t, s)), opts...)...)
	return client
}

func call(ctx context.Context, client pb.TestServiceClient, opts ...grpc.CallOption) error {
	_, err := client.UnaryCall(ctx, &pb.SimpleRequest{}, opts...)
	return err
}

func requireCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, status.Code(err), "want %v, got %v", want, err)
}

// refused is how a service says that it is too much.
var refused = status.Error(codes.ResourceExhausted, "too much")

// async runs f on a goroutine of its own.
func async(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}
