package aimdgrpc_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
)

// loaded is a limiter for many calls at once, its first window above the cap.
func loaded(t *testing.T) *aimd.Limiter {
	t.Helper()
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.9), Rules: aimd.Rules{PauseMin: time.Millisecond, PauseMax: 10 * time.Millisecond}})
	require.NoError(t, err)
	atRest(t, l)
	return l
}

// A service that refuses more than 16 calls at a time with RESOURCE_EXHAUSTED: none of 500 calls, or
// streams, is lost, and few are sent twice.
func TestNoCallIsLost(t *testing.T) {
	for name, send := range both {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var busy atomic.Int32
				l := loaded(t)
				client := to(t, &service{answers: func(context.Context, func(metadata.MD)) error {
					defer busy.Add(-1)
					if busy.Add(1) > 16 {
						return refused
					}
					time.Sleep(5 * time.Millisecond) // the service time
					return nil
				}}, aimdgrpc.Limit(l)...)
				var all sync.WaitGroup
				for range 500 {
					all.Go(func() {
						assert.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return send(ctx, client) }))
					})
				}
				all.Wait()
				s := l.Snapshot()
				assert.EqualValues(t, 500, s.Successes)
				assert.NotZero(t, s.Overloads, "the service never refused, so this shows nothing")
				assert.Less(t, s.Attempts, uint64(750), "some 530")
			})
		})
	}
}

// Whatever callers do with calls and streams, no slot is lost.
func TestNoSlotIsLostWhateverCallersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loaded(t)
		client := to(t, &service{}, aimdgrpc.Limit(l)...)
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				for range 40 {
					misuse(t.Context(), client)
				}
			})
		}
		all.Wait()
		synctest.Wait() // what nobody read comes back by its context, on a goroutine of its own
	})
}

// misuse does something with a stream, and leaves it there.
func misuse(ctx context.Context, client pb.TestServiceClient) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cancelled := async(func() error {
		if rand.N(2) == 0 {
			cancel()
		}
		return nil
	})
	defer func() { <-cancelled }()
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		return
	}
	received := async(func() error { return nil })
	for range rand.N(4) {
		if stream.Send(&pb.StreamingOutputCallRequest{}) != nil {
			break
		}
		if rand.N(2) == 0 {
			<-received
			received = async(func() error { _, err := stream.Recv(); return err })
		}
	}
	if rand.N(2) == 0 {
		_ = stream.CloseSend()
	}
	if rand.N(2) == 0 {
		cancel()
		_, _ = stream.Header()
	}
	cancel()
	if err := <-received; err == nil && rand.N(2) == 0 {
		for !errors.Is(err, io.EOF) && err == nil {
			_, err = stream.Recv()
		}
	}
}

// The price of each part, on a call in memory.
func BenchmarkCall(b *testing.B) {
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	require.NoError(b, err)
	tags, err := aimdgrpc.Tag("bench", "1")
	require.NoError(b, err)
	controller, err := admission.New(admission.Fixed(64), admission.Config{})
	require.NoError(b, err)
	admit, err := aimdgrpc.Admit(controller, aimdgrpc.ServerConfig{})
	require.NoError(b, err)
	for _, c := range []struct {
		name   string
		client []grpc.DialOption
		server []grpc.ServerOption
	}{{"plain", nil, nil}, {"Limit", aimdgrpc.Limit(l), nil}, {"Tag", tags, nil}, {"Admit", nil, admit}} {
		dialer, _ := serve(b, &service{}, c.server...)
		client, _ := dial(b, append(c.client, dialer)...)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(context.Background(), client); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
