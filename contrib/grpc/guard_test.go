package aimdgrpc_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"

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
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

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
	requests, accepts := guard.Counts(tag.Critical)
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
