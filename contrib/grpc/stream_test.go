package aimdgrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/admission"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/window"
)

// openStream opens a stream through the interceptor, with the function in the place of gRPC.
func openStream(ctx context.Context, l watched, f func(context.Context) (grpc.ClientStream, error), opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return aimdgrpc.StreamClientInterceptor(l.Limiter)(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, nil, "/service/method",
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			return f(ctx)
		}, opts...)
}

// handmade is a stream of another interceptor, of which gRPC tells nothing.
type handmade struct {
	grpc.ClientStream
	recv, send, header func() error
}

func (h *handmade) RecvMsg(any) error            { return h.recv() }
func (h *handmade) SendMsg(any) error            { return h.send() }
func (h *handmade) Header() (metadata.MD, error) { return nil, h.header() }
func (h *handmade) Trailer() metadata.MD         { return nil }

func TestAServersStreamHoldsItsSlotToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		client := limited(t, l, &service{})
		stream, err := client.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
		require.NoError(t, err)
		second := async(func() error { return call(t.Context(), client) })
		l.waiting(1)
		for range 3 {
			_, err = stream.Recv()
			require.NoError(t, err)
			l.held(1)
		}
		_, err = stream.Recv()
		require.ErrorIs(t, err, io.EOF)
		l.ended(window.Success)
		require.NoError(t, <-second)
		l.told(window.Success)
		_, err = stream.Recv()
		require.Error(t, err, "after the end")
	})
}

func TestAClientsStreamHoldsItsSlotToTheAnswer(t *testing.T) {
	l := one(t)
	client := limited(t, l, &service{})
	stream, err := client.StreamingInputCall(t.Context())
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, stream.Send(&pb.StreamingInputCallRequest{}))
		l.held(1)
	}
	answer, err := stream.CloseAndRecv()
	require.NoError(t, err)
	assert.EqualValues(t, 3, answer.GetAggregatedPayloadSize())
	l.told(window.Success)
}

func TestADuplexStreamHoldsItsSlotToTheEnd(t *testing.T) {
	l := one(t)
	client := limited(t, l, &service{})
	stream, err := client.FullDuplexCall(t.Context())
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
		_, err := stream.Recv()
		require.NoError(t, err)
	}
	require.NoError(t, stream.CloseSend())
	l.held(1)
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	l.told(window.Success)
}

func TestARefusalOfAStreamIsAnOverload(t *testing.T) {
	refuse := func(duplexServer) error { return refused }
	late := func(s duplexServer) error {
		_ = s.Send(&pb.StreamingOutputCallResponse{})
		return refused
	}
	for _, c := range []struct {
		name   string
		server func(duplexServer) error
		read   func(duplexClient) error
	}{
		{"seen by Recv", refuse, func(s duplexClient) error { _, err := s.Recv(); return err }},
		{"seen by Header", refuse, func(s duplexClient) error { // Header itself returns no error
			if md, err := s.Header(); md != nil || err != nil {
				return errors.New("not seen")
			}
			return refused
		}},
		{"after a message", late, func(s duplexClient) error {
			if _, err := s.Recv(); err != nil {
				return err
			}
			_, err := s.Recv()
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := one(t)
			stream, err := limited(t, l, &service{duplex: c.server}).FullDuplexCall(t.Context())
			require.NoError(t, err)
			l.held(1)
			requireCode(t, codes.ResourceExhausted, c.read(stream))
			l.told(window.Overload)
		})
	}
}

func TestASendThatFailsEndsTheStream(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		l := one(t)
		stream, err := limited(t, l, &service{}).FullDuplexCall(t.Context(), grpc.MaxCallSendMsgSize(1))
		require.NoError(t, err)
		err = stream.Send(&pb.StreamingOutputCallRequest{Payload: &pb.Payload{Body: make([]byte, 9)}})
		requireCode(t, codes.ResourceExhausted, err)
		l.told(window.Neutral)
	})
	t.Run("there", func(t *testing.T) {
		l := one(t)
		stream, err := limited(t, l, &service{duplex: func(duplexServer) error { return refused }}).FullDuplexCall(t.Context())
		require.NoError(t, err)
		for err == nil {
			err = stream.Send(&pb.StreamingOutputCallRequest{})
		}
		require.ErrorIs(t, err, io.EOF)
		l.held(1) // nobody knows yet what the server said
		_, err = stream.Recv()
		requireCode(t, codes.ResourceExhausted, err)
		l.told(window.Overload)
	})
}

func TestAStreamThatCannotBeOpened(t *testing.T) {
	l := one(t)
	client, _ := dial(t, "127.0.0.1:1", aimdgrpc.Limit(l.Limiter)...)
	_, err := client.FullDuplexCall(t.Context())
	requireCode(t, codes.Unavailable, err)
	l.told(window.Neutral)
	_, err = openStream(t.Context(), l, func(context.Context) (grpc.ClientStream, error) { return nil, refused })
	assert.Same(t, refused, err)
	l.told(window.Overload)
}

func TestPanicsInAStream(t *testing.T) {
	l := one(t)
	mine := func() { panic("mine") }
	assert.PanicsWithValue(t, "mine", func() {
		_, _ = openStream(t.Context(), l, func(context.Context) (grpc.ClientStream, error) { mine(); return nil, nil }, aimdgrpc.SlotPerMessage())
	})
	l.told(window.Neutral)
	stream, err := openStream(t.Context(), l, func(context.Context) (grpc.ClientStream, error) {
		return &handmade{recv: func() error { mine(); return nil }}, nil
	})
	require.NoError(t, err)
	for range 2 {
		assert.PanicsWithValue(t, "mine", func() { _ = stream.RecvMsg(nil) })
	}
	l.told(window.Neutral)
}

// Of such streams only their methods and the context tell the end.
func TestStreamsOfOtherInterceptors(t *testing.T) {
	recv := func(s grpc.ClientStream) error { return s.RecvMsg(nil) }
	send := func(s grpc.ClientStream) error { return s.SendMsg(nil) }
	header := func(s grpc.ClientStream) error { _, err := s.Header(); return err }
	for _, c := range []struct {
		name string
		call func(grpc.ClientStream) error
		err  error
		want window.Outcome
	}{
		{"received to the end", recv, io.EOF, window.Success},
		{"receive", recv, refused, window.Overload},
		{"send", send, refused, window.Overload},
		{"header", header, refused, window.Overload},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ctx := one(t), newCounted()
			fail := func() error { return c.err }
			stream, err := openStream(ctx, l, func(context.Context) (grpc.ClientStream, error) {
				return &handmade{recv: fail, send: fail, header: fail}, nil
			})
			require.NoError(t, err)
			l.held(1)
			assert.Equal(t, 1, ctx.watching)
			for range 2 {
				require.Equal(t, c.err, c.call(stream))
			}
			l.told(c.want)
			assert.Zero(t, ctx.watching, "the context is forgotten")
		})
	}
	l := one(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := openStream(ctx, l, func(context.Context) (grpc.ClientStream, error) { return &handmade{}, nil })
	require.NoError(t, err)
	l.held(1)
	cancel()
	l.ended(window.Neutral)
}

// counted is a context that knows how many watch it by context.AfterFunc.
type counted struct {
	context.Context
	done     chan struct{}
	watching int
}

func newCounted() *counted {
	return &counted{Context: context.Background(), done: make(chan struct{})}
}

func (c *counted) Done() <-chan struct{} { return c.done }

func (c *counted) AfterFunc(func()) (stop func() bool) {
	c.watching++
	return func() bool { c.watching--; return true }
}

// A stream of which another interceptor says, before it is opened, that it is over.
func TestAStreamThatEndsWhileItIsOpened(t *testing.T) {
	l, ctx := one(t), newCounted()
	_, err := aimdgrpc.StreamClientInterceptor(l.Limiter)(ctx, &grpc.StreamDesc{}, nil, "/service/method",
		func(_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			for _, o := range opts {
				if finish, ok := o.(grpc.OnFinishCallOption); ok {
					finish.OnFinish(refused)
				}
			}
			return &handmade{}, nil
		})
	require.NoError(t, err)
	l.told(window.Overload)
	assert.Zero(t, ctx.watching)
}

// Fetching credentials, say, for which the same limiter is asked.
func TestACallThatAStreamsOpeningMakes(t *testing.T) {
	l := one(t)
	client := limited(t, l, &service{})
	stream, err := openStream(t.Context(), l, func(ctx context.Context) (grpc.ClientStream, error) {
		return &handmade{recv: func() error { return io.EOF }}, call(ctx, client)
	})
	require.NoError(t, err)
	l.held(1)
	require.Equal(t, io.EOF, stream.RecvMsg(nil))
	l.told(window.Success)
}

func TestAStreamWithinAnAttemptTakesNoSecondSlot(t *testing.T) {
	l := one(t)
	client := limited(t, l, &service{})
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
		stream, err := client.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{})
		for err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}))
	l.told(window.Success)
	// Also without an end: the stream has no slot of its own to give back.
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
		_, err := client.FullDuplexCall(ctx, aimdgrpc.SlotPerMessage())
		return err
	}))
	l.told(window.Success)
}

// silent is a service whose streams say nothing until the client goes.
var silent = &service{
	duplex: func(s duplexServer) error {
		<-s.Context().Done()
		return s.Context().Err()
	},
}

func TestTheEndOfTheContextEndsAStream(t *testing.T) {
	for _, c := range []struct {
		name    string
		end     error
		reading bool
		want    window.Outcome
	}{
		{"cancelled, nobody reads", context.Canceled, false, window.Neutral},
		{"cancelled, somebody reads", context.Canceled, true, window.Neutral},
		// As with httplimit: the reader was slow, not the service.
		{"deadline, nobody reads", context.DeadlineExceeded, false, window.Neutral},
		{"deadline, somebody reads", context.DeadlineExceeded, true, window.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := one(t)
			ctx, reading := newTerm(), make(chan struct{})
			stream, err := limited(t, l, silent, grpc.WithChainStreamInterceptor(onRecv(reading))).FullDuplexCall(ctx)
			require.NoError(t, err)
			require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
			require.NoError(t, stream.CloseSend())
			l.held(1)
			if !c.reading {
				ctx.end(c.end)
				l.ended(c.want)
				_, err = stream.Recv()
				requireCode(t, status.FromContextError(c.end).Code(), err)
				return
			}
			read := async(func() error { _, err := stream.Recv(); return err })
			<-reading
			ctx.end(c.end)
			requireCode(t, status.FromContextError(c.end).Code(), <-read)
			l.ended(c.want)
		})
	}
}

// onRecv is an interceptor that tells of the first RecvMsg.
func onRecv(reading chan<- struct{}) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := open(ctx, desc, cc, method, opts...)
		return &told{s, reading}, err
	}
}

type told struct {
	grpc.ClientStream
	reading chan<- struct{}
}

func (s *told) RecvMsg(m any) error {
	if s.reading != nil {
		close(s.reading)
		s.reading = nil
	}
	return s.ClientStream.RecvMsg(m)
}

// "To ensure resources are not leaked ... Call Close on the ClientConn" (ClientConn.NewStream)
func TestTheEndOfTheConnectionEndsAStreamThatNobodyReads(t *testing.T) {
	l := one(t)
	client, conn := dial(t, start(t, silent), aimdgrpc.Limit(l.Limiter)...)
	_, err := client.FullDuplexCall(context.Background())
	require.NoError(t, err)
	l.held(1)
	require.NoError(t, conn.Close())
	l.ended(window.Neutral)
}

func TestAServerThatDiesEndsItsStreams(t *testing.T) {
	l := one(t)
	arrived := make(chan struct{})
	address, stop := startUntil(t, &service{duplex: func(s duplexServer) error {
		close(arrived)
		<-s.Context().Done()
		return nil
	}})
	client, _ := dial(t, address, aimdgrpc.Limit(l.Limiter)...)
	require.NoError(t, call(t.Context(), client)) // so that the service was there
	l.told(window.Success)
	stream, err := client.FullDuplexCall(context.Background())
	require.NoError(t, err)
	<-arrived
	l.held(1)
	stop()
	_, err = stream.Recv()
	requireCode(t, codes.Unavailable, err)
	l.told(window.Overload)
}

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
