package grpclimit_test

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

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// invoke calls through the interceptor, with the function in the place of gRPC.
func invoke(ctx context.Context, l watched, f func(context.Context) error) error {
	return grpclimit.UnaryClientInterceptor(l.Limiter)(ctx, "/service/method", nil, nil, nil,
		func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			return f(ctx)
		})
}

// open opens a stream through the interceptor, with the function in the place of gRPC.
func open(ctx context.Context, l watched, f func(context.Context, []grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
	return grpclimit.StreamClientInterceptor(l.Limiter)(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, nil, "/service/method",
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return f(ctx, opts)
		})
}

// handmade is a stream of another interceptor, whose methods return what the function does; gRPC reports nothing
// about it.
type handmade struct {
	grpc.ClientStream
	end func() error
}

func (h handmade) RecvMsg(any) error            { return h.end() }
func (h handmade) SendMsg(any) error            { return h.end() }
func (h handmade) Header() (metadata.MD, error) { return nil, h.end() }
func (h handmade) Trailer() metadata.MD         { return nil }

// opened is a handmade stream through the interceptor.
func opened(t *testing.T, ctx context.Context, l watched, end func() error) grpc.ClientStream {
	t.Helper()
	s, err := open(ctx, l, func(context.Context, []grpc.CallOption) (grpc.ClientStream, error) { return handmade{end: end}, nil })
	require.NoError(t, err)
	l.held()
	return s
}

// methods are those of a stream that may end it.
var methods = map[string]func(grpc.ClientStream) error{
	"RecvMsg": func(s grpc.ClientStream) error { return s.RecvMsg(nil) },
	"SendMsg": func(s grpc.ClientStream) error { return s.SendMsg(nil) },
	"Header":  func(s grpc.ClientStream) error { _, err := s.Header(); return err },
}

// The limiter, its classifier and its guards learn how a call ends, and a stream at each of its methods.
// The caller gets the error as it is, and what watches the context is gone.
func TestWhatAnErrorSays(t *testing.T) {
	own := aimd.Config{Classifier: func(err error) verdict.Verdict {
		if status.Code(err) == codes.NotFound {
			return verdict.Verdict{Meaning: answer.Refused}
		}
		return verdict.Verdict{}
	}}
	for name, c := range map[string]struct {
		err         error
		want, guard window.Outcome
		opts        aimd.Config
	}{
		"success":          {nil, window.Success, window.Success, aimd.Config{}},
		"overload":         {refused, window.Overload, window.Overload, aimd.Config{}},
		"an answer":        {status.Error(codes.NotFound, ""), window.ClientError, window.ClientError, aimd.Config{}},
		"by a classifier":  {status.Error(codes.NotFound, ""), window.Overload, window.Overload, own},
		"no status at all": {errors.New("mine"), window.Neutral, window.Neutral, aimd.Config{}},
		"not sent":         {grpclimit.NotSent(aimd.ErrQueueFull), window.Neutral, 0, aimd.Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			l, g := guarded(t, c.opts)
			require.Equal(t, c.err, invoke(t.Context(), l, func(context.Context) error { return c.err }))
			l.told(c.want)
			want := []window.Outcome{c.guard}
			if c.err != nil {
				_, err := open(t.Context(), l, func(context.Context, []grpc.CallOption) (grpc.ClientStream, error) { return nil, c.err })
				require.Equal(t, c.err, err)
				l.told(c.want)
				want = append(want, c.guard)
			}
			for method, call := range methods {
				err := c.err
				if err == nil {
					err = io.EOF
				}
				if err == io.EOF && method != "RecvMsg" {
					continue // it does not end the stream
				}
				ctx := newCounted()
				stream := opened(t, ctx, l, func() error { return err })
				require.Equal(t, 1, ctx.watching)
				for range 2 {
					require.Equal(t, err, call(stream), method)
				}
				l.told(c.want)
				want = append(want, c.guard)
				assert.Zero(t, ctx.watching, "the context is forgotten")
			}
			attempts, ended := g.Heard()
			assert.Equal(t, make([]int, len(want)), attempts)
			assert.Equal(t, want, ended)
		})
	}
}

// The ends of a stream that gRPC says nothing of: its context's, another interceptor's before it is opened, and an
// answer that says that another stream would fail too.
func TestTheEndOfAHandmadeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t, aimd.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		opened(t, ctx, l, nil)
		cancel()
		synctest.Wait()
		l.told(window.Neutral)

		counted := newCounted()
		_, err := open(counted, l, func(_ context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
			for _, o := range opts {
				if finish, ok := o.(grpc.OnFinishCallOption); ok {
					finish.OnFinish(refused)
				}
			}
			return handmade{}, nil
		})
		require.NoError(t, err)
		l.told(window.Overload)
		assert.Zero(t, counted.watching)

		require.ErrorIs(t, methods["Header"](opened(t, t.Context(), l, func() error { return quotaFailure() })), aimd.ErrQuota)
		l.told(window.Neutral)
	})
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

// The ends of calls and streams of a real client and server, on virtual time.
func TestHowACallOrAStreamEnds(t *testing.T) {
	type client struct {
		pb.TestServiceClient
		conn *grpc.ClientConn
		stop func() // the server
	}
	duplex := func(t *testing.T, l watched, c client, ctx context.Context, opts ...grpc.CallOption) grpc.BidiStreamingClient[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse] {
		stream, err := c.FullDuplexCall(ctx, opts...)
		require.NoError(t, err)
		l.held()
		synctest.Wait() // the server has answered, if it does
		return stream
	}
	silent := &service{answers: func(ctx context.Context, _ func(metadata.MD)) error { <-ctx.Done(); return ctx.Err() }}
	type row struct {
		service *service
		call    func(*testing.T, watched, client)
		want    window.Outcome
	}
	rows := map[string]row{
		"a server's stream, for which a call waits": {&service{}, func(t *testing.T, l watched, c client) {
			stream, err := c.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
			require.NoError(t, err)
			second := async(func() error { return call(t.Context(), c) })
			queued(t, 1, func() int { return l.Snapshot().Queued })
			for range 3 {
				_, err = stream.Recv()
				require.NoError(t, err)
				l.held()
			}
			_, err = stream.Recv()
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, <-second)
			l.told(window.Success)
			_, err = stream.Recv()
			require.Error(t, err, "after the end")
		}, window.Success},
		"a client's stream": {&service{}, func(t *testing.T, l watched, c client) {
			stream, err := c.StreamingInputCall(t.Context())
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, stream.Send(&pb.StreamingInputCallRequest{}))
				l.held()
			}
			answer, err := stream.CloseAndRecv()
			require.NoError(t, err)
			assert.EqualValues(t, 3, answer.GetAggregatedPayloadSize())
		}, window.Success},
		"a duplex stream": {&service{}, func(t *testing.T, l watched, c client) {
			stream := duplex(t, l, c, t.Context())
			require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
			_, err := stream.Recv()
			require.NoError(t, err)
			require.NoError(t, stream.CloseSend())
			l.held()
			_, err = stream.Recv()
			require.ErrorIs(t, err, io.EOF)
		}, window.Success},
		"a refusal, seen by Header": {always(refused), func(t *testing.T, l watched, c client) {
			md, err := duplex(t, l, c, t.Context()).Header()
			require.NoError(t, err, "Header itself returns no error")
			require.Nil(t, md)
		}, window.Overload},
		"a refusal after a message": {&service{duplex: func(s duplexServer) error {
			_ = s.Send(&pb.StreamingOutputCallResponse{})
			return refused
		}}, func(t *testing.T, l watched, c client) {
			stream := duplex(t, l, c, t.Context())
			_, err := stream.Recv()
			require.NoError(t, err)
			l.held()
			_, err = stream.Recv()
			requireCode(t, codes.ResourceExhausted, err)
		}, window.Overload},
		"a Send that fails here": {&service{}, func(t *testing.T, l watched, c client) {
			err := duplex(t, l, c, t.Context(), grpc.MaxCallSendMsgSize(1)).
				Send(&pb.StreamingOutputCallRequest{Payload: &pb.Payload{Body: make([]byte, 9)}})
			requireCode(t, codes.ResourceExhausted, err)
		}, window.Neutral},
		"a Send that fails there": {always(refused), func(t *testing.T, l watched, c client) {
			stream := duplex(t, l, c, t.Context())
			require.ErrorIs(t, stream.Send(&pb.StreamingOutputCallRequest{}), io.EOF)
			l.held() // Recv has what the server said
			_, err := stream.Recv()
			requireCode(t, codes.ResourceExhausted, err)
		}, window.Overload},
		"the connection is closed, nobody reads": {silent, func(t *testing.T, l watched, c client) {
			_ = duplex(t, l, c, context.Background())
			require.NoError(t, c.conn.Close())
		}, window.Neutral},
		"the server dies": {&service{duplex: func(s duplexServer) error { <-s.Context().Done(); return s.Context().Err() }},
			func(t *testing.T, l watched, c client) {
				require.NoError(t, call(t.Context(), c)) // so that the service was there
				l.told(window.Success)
				stream := duplex(t, l, c, context.Background())
				c.stop()
				_, err := stream.Recv()
				requireCode(t, codes.Unavailable, err)
			}, window.Overload},
	}
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"a deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		code := codes.Canceled
		if name == "a deadline" {
			code = codes.DeadlineExceeded
		}
		rows[name+", nobody reads"] = row{silent, func(t *testing.T, l watched, c client) {
			ctx, cancel := end(t.Context())
			defer cancel()
			stream := duplex(t, l, c, ctx)
			time.Sleep(time.Second)
			synctest.Wait()
			l.told(window.Neutral) // the reader was slow, not the service
			_, err := stream.Recv()
			requireCode(t, code, err)
			require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
		}, window.Success}
		rows[name+", after a message"] = row{&service{}, func(t *testing.T, l watched, c client) {
			ctx, cancel := end(t.Context())
			defer cancel()
			stream := duplex(t, l, c, ctx)
			require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
			_, err := stream.Recv()
			require.NoError(t, err)
			time.Sleep(time.Second)
		}, window.Success}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := one(t, aimd.Config{})
				dialer, stop := serve(t, c.service)
				stub, conn := dial(t, append(grpclimit.Limit(l.Limiter), dialer)...)
				c.call(t, l, client{stub, conn, stop})
				synctest.Wait()
				l.told(c.want)
			})
		})
	}
}

// A panic of a classifier, or of a method of a stream, gives the slot back.
func TestAPanicGivesTheSlotBack(t *testing.T) {
	boom := func() error { panic("mine") }
	ctx := newCounted()
	for name, call := range map[string]func(watched){
		"classifier": func(l watched) { _ = invoke(t.Context(), l, func(context.Context) error { return refused }) },
		"RecvMsg":    func(l watched) { _ = opened(t, ctx, l, boom).RecvMsg(nil) },
	} {
		l := one(t, aimd.Config{Classifier: func(error) verdict.Verdict { panic("mine") }})
		assert.PanicsWithValue(t, "mine", func() { call(l) }, name)
		l.told(window.Neutral)
	}
	assert.Zero(t, ctx.watching)
	assert.PanicsWithValue(t, "grpclimit: the limiter is nil", func() { grpclimit.Limit(nil) })
}

// What is not sent says why, and is neutral to limiters, whatever its code.
func TestNotSent(t *testing.T) {
	for reason, code := range map[error]codes.Code{
		aimd.ErrClosed: codes.Canceled, context.Canceled: codes.Canceled, context.DeadlineExceeded: codes.DeadlineExceeded,
		errors.New("of a guard"): codes.ResourceExhausted,
	} {
		err := grpclimit.NotSent(reason)
		requireCode(t, code, err)
		assert.ErrorIs(t, err, reason)
		assert.EqualError(t, err, "rpc error: code = "+code.String()+" desc = grpclimit: not sent: "+reason.Error())
		assert.Equal(t, final, verdict.Classify(err))
	}
}

func guarded(t *testing.T, config aimd.Config) (watched, *attempttest.Guard) {
	t.Helper()
	g := &attempttest.Guard{}
	config.Guards = append(config.Guards, g)
	return one(t, config), g
}

// "limiters has those, and class names that of a method": "A nil class is the method itself. A call whose class has no limiter
// fails, and is not sent."
func TestClassesOfMethods(t *testing.T) {
	const unary, streamed = "/grpc.testing.TestService/UnaryCall", "/grpc.testing.TestService/FullDuplexCall"
	streams := func(method string) string {
		if method == unary {
			return "call"
		}
		return "stream"
	}
	for name, c := range map[string]struct {
		class            func(string) string
		first, otherwise string
	}{
		"of a function": {streams, "call", "stream"}, "of methods": {nil, unary, streamed},
	} {
		t.Run(name, func(t *testing.T) {
			both, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{}) }, aimd.KeyedConfig{})
			require.NoError(t, err)
			client := to(t, always(nil), grpclimit.LimitBy(both, c.class)...)
			require.NoError(t, call(t.Context(), client))
			require.NoError(t, stream(t.Context(), client))
			successes := map[string]uint64{}
			for class, l := range both.All() {
				successes[class] = l.Snapshot().Successes
			}
			require.Equal(t, map[string]uint64{c.first: 1, c.otherwise: 1}, successes)
			single, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return nil, errors.New("no such class") }, aimd.KeyedConfig{})
			require.NoError(t, err)
			err = stream(t.Context(), to(t, always(nil), grpclimit.LimitBy(single, c.class)...))
			requireCode(t, codes.ResourceExhausted, err)
			require.ErrorContains(t, err, "no limiter for "+streamed+": no such class")
		})
	}
	require.Panics(t, func() { grpclimit.LimitBy(nil, nil) })
}
