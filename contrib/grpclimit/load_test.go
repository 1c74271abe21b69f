package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/grpclimit"
)

// Whatever callers do with calls and streams, no slot is lost.
func TestNoSlotIsLostWhateverCallersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.9)})
		require.NoError(t, err)
		atRest(t, l)
		client := to(t, &service{}, grpclimit.Limit(l)...)
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
