package aimdgrpc_test

import (
	"context"
	"errors"
	"io"
	"sync"
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
	"github.com/aimd-go/aimd/attempt"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

// invoke calls through the interceptor, with the function in the place of gRPC.
func invoke(ctx context.Context, l watched, f func(context.Context) error) error {
	return aimdgrpc.UnaryClientInterceptor(l.Limiter)(ctx, "/service/method", nil, nil, nil,
		func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			return f(ctx)
		})
}

func TestACallHoldsItsSlotUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		arrived, goOn := make(chan struct{}), make(chan struct{})
		client := limited(t, l, &service{unary: func(context.Context, *pb.SimpleRequest) error {
			arrived <- struct{}{}
			<-goOn
			return nil
		}})
		first := async(func() error { return call(t.Context(), client) })
		<-arrived
		second := async(func() error { return call(t.Context(), client) })
		l.waiting(1)
		l.held(1)
		goOn <- struct{}{}
		require.NoError(t, <-first)
		l.ended(window.Success)
		<-arrived
		l.held(1)
		goOn <- struct{}{}
		require.NoError(t, <-second)
		l.told(window.Success)
	})
}

// "codes classified (RESOURCE_EXHAUSTED, UNAVAILABLE overload; DEADLINE_EXCEEDED timeout), a final answer
// a client error, the rest neutral.
func TestWhatTheCodesMean(t *testing.T) {
	l := watch(t, aimd.WithPause(time.Millisecond, time.Millisecond))
	var code codes.Code
	client := limited(t, l, &service{unary: func(context.Context, *pb.SimpleRequest) error {
		return status.Error(code, "")
	}})
	for code = codes.OK; code <= codes.Unauthenticated; code++ {
		want := window.Neutral
		switch code {
		case codes.OK:
			want = window.Success
		case codes.ResourceExhausted, codes.Unavailable:
			want = window.Overload
		case codes.DeadlineExceeded:
			want = window.Timeout
		case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
			codes.FailedPrecondition, codes.OutOfRange, codes.Unauthenticated:
			want = window.ClientError
		}
		err := call(t.Context(), client)
		assert.Equal(t, code, status.Code(err))
		l.told(want)
	}
}

func TestAClassifierOfTheLimiterHasTheWord(t *testing.T) {
	l := watch(t, aimd.WithClassifier(func(err error) attempt.Verdict {
		if status.Code(err) == codes.NotFound {
			return attempt.Verdict{Outcome: window.Overload}
		}
		return attempt.Verdict{}
	}))
	require.Error(t, invoke(t.Context(), l, func(context.Context) error { return status.Error(codes.NotFound, "") }))
	l.told(window.Overload)
}

func TestAServiceThatIsAway(t *testing.T) {
	l := one(t)
	client, _ := dial(t, "127.0.0.1:1", aimdgrpc.Limit(l.Limiter)...)
	requireCode(t, codes.Unavailable, call(t.Context(), client))
	l.told(window.Neutral) // of a service that was never there nothing is known
	require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
	l.told(window.Success)
	requireCode(t, codes.Unavailable, call(t.Context(), client))
	l.told(window.Overload)
}

func TestNotSent(t *testing.T) {
	t.Run("the context is over already", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := notSent(t, one(t), ctx)
		requireCode(t, codes.Canceled, err)
		assert.ErrorIs(t, err, context.Canceled)
	})
	t.Run("the limiter is closed", func(t *testing.T) {
		l := one(t)
		l.Close()
		err := notSent(t, l, t.Context())
		requireCode(t, codes.Canceled, err)
		assert.ErrorIs(t, err, limiter.ErrClosed)
	})
	t.Run("the queue is full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := one(t, aimd.WithQueueBound(1))
			p, err := l.Acquire(t.Context())
			require.NoError(t, err)
			next := async(func() error { return invoke(t.Context(), l, func(context.Context) error { return nil }) })
			l.waiting(1)
			err = notSent(t, l, t.Context())
			requireCode(t, codes.ResourceExhausted, err)
			assert.ErrorIs(t, err, attempt.ErrQueueFull)
			assert.EqualError(t, err, "rpc error: code = ResourceExhausted desc = aimdgrpc: not sent: limiter: queue full")
			require.NoError(t, p.Done(window.Neutral))
			require.NoError(t, <-next)
			assert.ElementsMatch(t, []window.Outcome{window.Neutral, window.Success}, []window.Outcome{<-l.outcomes, <-l.outcomes})
		})
	})
	t.Run("the context ends in the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for want, end := range map[codes.Code]error{codes.Canceled: context.Canceled, codes.DeadlineExceeded: context.DeadlineExceeded} {
				l := one(t)
				p, err := l.Acquire(t.Context())
				require.NoError(t, err)
				ctx := newTerm()
				go func() { l.waiting(1); ctx.end(end) }()
				err = notSent(t, l, ctx)
				requireCode(t, want, err)
				assert.ErrorIs(t, err, end)
				l.held(1)
				require.NoError(t, p.Done(window.Neutral))
				l.told(window.Neutral)
			}
		})
	})
}

// notSent makes a call and opens a stream that must get no slot, and returns why.
func notSent(t *testing.T, l watched, ctx context.Context) error {
	t.Helper()
	err := invoke(ctx, l, func(context.Context) error {
		t.Error("sent")
		return nil
	})
	var e *attempt.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.NotSent())
	// Exhausted means fail at once with a named error, never a tighter loop
	assert.Equal(t, attempt.Verdict{Outcome: window.Neutral}, attempt.Classify(err), "whatever its code")
	if ctx.Err() != nil || l.Snapshot().InFlight == 0 {
		_, inStream := openStream(ctx, l, func(context.Context) (grpc.ClientStream, error) {
			t.Error("opened")
			return nil, nil
		})
		assert.Equal(t, status.Code(err), status.Code(inStream))
	}
	return err
}

func TestEndsOfTheContextDuringACall(t *testing.T) {
	for want, end := range map[window.Outcome]error{window.Neutral: context.Canceled, window.Timeout: context.DeadlineExceeded} {
		l := one(t)
		ctx := newTerm()
		client := limited(t, l, &service{unary: func(server context.Context, _ *pb.SimpleRequest) error {
			ctx.end(end)
			<-server.Done()
			return server.Err()
		}})
		requireCode(t, status.FromContextError(end).Code(), call(ctx, client))
		l.told(want)
	}
}

func TestAPanicGivesTheSlotBack(t *testing.T) {
	l := one(t)
	assert.PanicsWithValue(t, "mine", func() {
		_ = invoke(t.Context(), l, func(context.Context) error { panic("mine") })
	})
	l.told(window.Neutral)
	classify := one(t, aimd.WithClassifier(func(error) attempt.Verdict { panic("mine") }))
	assert.PanicsWithValue(t, "mine", func() {
		_ = invoke(t.Context(), classify, func(context.Context) error { return refused })
	})
	classify.told(window.Neutral)
}

// Neither Do around a call nor a call within a call waits for a second slot while it holds the only one.
func TestACallWithinAnAttemptTakesNoSecondSlot(t *testing.T) {
	l := one(t)
	tries := 0
	client := limited(t, l, &service{unary: func(context.Context, *pb.SimpleRequest) error {
		if tries++; tries == 1 {
			return refused
		}
		return nil
	}})
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return call(ctx, client) }))
	l.told(window.Overload)
	l.told(window.Success)
	require.NoError(t, invoke(t.Context(), l, func(ctx context.Context) error { return call(ctx, client) }))
	l.told(window.Success)
}

func TestTwoLimiters(t *testing.T) {
	service1, account := one(t), one(t, aimd.WithQueueBound(1))
	client := limited(t, account, &service{}, aimdgrpc.Limit(service1.Limiter)...)
	require.NoError(t, call(t.Context(), client))
	account.told(window.Success)
	service1.told(window.Success)

	service1.Close()
	err := call(t.Context(), client)
	assert.ErrorIs(t, err, limiter.ErrClosed)
	account.told(window.Neutral)
}

func TestLimitPanicsWithoutALimiter(t *testing.T) {
	for _, f := range []func(){
		func() { aimdgrpc.Limit(nil) },
		func() { aimdgrpc.UnaryClientInterceptor(nil) },
		func() { aimdgrpc.StreamClientInterceptor(nil) },
	} {
		assert.PanicsWithValue(t, "aimdgrpc: the limiter is nil", f)
	}
}

func TestOtherErrorsStayWhatTheyAre(t *testing.T) {
	l := one(t)
	mine := errors.New("mine")
	assert.Same(t, mine, invoke(t.Context(), l, func(context.Context) error { return mine }))
	l.told(window.Neutral)
	assert.Same(t, refused, invoke(t.Context(), l, func(context.Context) error { return refused }))
	l.told(window.Overload)
}

// guard keeps what it was asked and told.
type guard struct {
	refusal  error
	mu       sync.Mutex
	attempts []int
	ended    []window.Outcome
}

func (g *guard) Admit(_ context.Context, attempt int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attempts = append(g.attempts, attempt)
	return g.refusal
}

func (g *guard) Ended(_ context.Context, o window.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = append(g.ended, o)
}

func guarded(t *testing.T, opts ...aimd.Option) (watched, *guard) {
	t.Helper()
	g := &guard{}
	return one(t, append(opts, aimd.WithGuard(g))...), g
}

// Each Admit that returned nil is followed by exactly one Ended
func TestGuardsHearOfEachAttempt(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want window.Outcome
		told window.Outcome
	}{
		{"success", io.EOF, window.Success, window.Success},
		{"overload", refused, window.Overload, window.Overload},
		{"an answer", status.Error(codes.NotFound, ""), window.ClientError, window.ClientError},
		{"not sent", aimdgrpc.NotSent(attempt.ErrQueueFull), window.Neutral, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, g := guarded(t)
			stream, err := openStream(t.Context(), l, func(context.Context) (grpc.ClientStream, error) {
				return &handmade{recv: func() error { return c.err }}, nil
			})
			require.NoError(t, err)
			require.Equal(t, c.err, stream.RecvMsg(nil))
			l.told(c.want)
			if c.err == io.EOF {
				c.err = nil
			}
			require.Equal(t, c.err, invoke(t.Context(), l, func(context.Context) error { return c.err }))
			l.told(c.want)
			assert.Equal(t, []int{0, 0}, g.attempts)
			assert.Equal(t, []window.Outcome{c.told, c.told}, g.ended)
		})
	}
}

func TestAGuardThatRefuses(t *testing.T) {
	l, g := guarded(t)
	g.refusal = errors.New("mine")
	err := notSent(t, l, t.Context())
	requireCode(t, codes.ResourceExhausted, err)
	require.ErrorIs(t, err, g.refusal)
	assert.Empty(t, g.ended)
	l.held(0)
}

func TestTheThrottleAtTheDoor(t *testing.T) {
	guard, err := throttle.New(throttle.Config{})
	require.NoError(t, err)
	l := watch(t, aimd.WithGuard(guard), aimd.WithPause(0, -1))
	client := limited(t, l, &service{unary: func(context.Context, *pb.SimpleRequest) error { return refused }})
	throttled := 0
	for range 200 {
		if err := call(t.Context(), client); errors.Is(err, throttle.ErrThrottled) {
			requireCode(t, codes.ResourceExhausted, err)
			throttled++
			continue
		}
		l.told(window.Overload)
	}
	assert.Greater(t, throttled, 100)
	requests, accepts, _ := guard.Counts(tag.Critical)
	assert.Equal(t, 200, requests)
	assert.Zero(t, accepts)
}

// A loop without the limiter numbers its attempts: those after the first wait at the front of the queue,
// whatever its bound, and the server is told.
func TestRetriesOfALoopWaitAtTheFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := guarded(t, aimd.WithQueueBound(1))
		client, seen := heard(t, append(aimdgrpc.Limit(l.Limiter), tagged(t, "loop", "1")...)...)
		p, err := l.Acquire(t.Context())
		require.NoError(t, err)
		first := async(func() error { return call(t.Context(), client) })
		l.waiting(1)
		tries := 0
		loop := run.Runner{Policy: again{}}
		second := async(func() error {
			return loop.Do(t.Context(), func(ctx context.Context) error {
				if tries++; tries == 1 {
					return refused
				}
				return call(ctx, client)
			})
		})
		l.waiting(2)
		require.NoError(t, p.Done(window.Success))
		for _, attempt := range []int{2, 0} { // one slot: one at a time
			tags, err := aimdgrpc.ParseTags(<-seen)
			require.NoError(t, err)
			assert.Equal(t, attempt, tags.Attempt)
		}
		require.NoError(t, <-second)
		require.NoError(t, <-first)
		assert.Equal(t, []int{0, 2}, g.attempts)
		for range 3 {
			l.told(window.Success)
		}
	})
}

// A stream may be opened as a retry, but its later messages are none.
func TestTheLaterMessagesOfAStreamAreNoRetries(t *testing.T) {
	l, g := guarded(t)
	client := limited(t, l, &service{})
	err := (&run.Runner{Policy: again{}}).Do(t.Context(), func(ctx context.Context) error {
		if attempt.Number(ctx) == 1 {
			return refused
		}
		stream, err := client.FullDuplexCall(ctx, aimdgrpc.SlotPerMessage())
		require.NoError(t, err)
		exchanged(t, l, stream)
		exchanged(t, l, stream)
		require.NoError(t, stream.CloseSend())
		_, err = stream.Recv()
		require.Equal(t, io.EOF, err)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, g.attempts)
}

// again is a policy that tries everything again at once.
type again struct{}

func (again) Decide(context.Context, attempt.Failure) attempt.Decision {
	return attempt.Decision{Retry: true}
}
