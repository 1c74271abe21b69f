package aimdgrpc_test

import (
	"context"
	"errors"
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
	"github.com/aimd-go/aimd/limiter"
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
		assert.Equal(t, err, inStream)
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
