package aimdgrpc_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/aimd-go/aimd"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// perMessage opens a stream with a slot per message; its first message is not sent yet.
func perMessage(t *testing.T, l watched, s *service) (duplexClient, context.CancelFunc) {
	t.Helper()
	client := limited(t, l, s, grpc.WithDefaultCallOptions(aimdgrpc.SlotPerMessage()))
	require.NoError(t, call(t.Context(), client), "it changes nothing for other calls")
	l.told(window.Success)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := client.FullDuplexCall(ctx)
	require.NoError(t, err)
	return stream, cancel
}

// A stream with it holds a slot only while a message of it is unanswered
func TestASlotPerMessage(t *testing.T) {
	l := one(t)
	stream, _ := perMessage(t, l, &service{})
	for range 3 {
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
		l.held(1)
		_, err := stream.Recv()
		require.NoError(t, err)
		l.told(window.Success)
		l.held(0)
	}
	require.NoError(t, stream.CloseSend())
	_, err := stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	l.held(0)
	err = stream.Send(&pb.StreamingOutputCallRequest{})
	require.Error(t, err, "after the end, and without a slot")
}

// A greeting gives back the slot with which the stream was opened.
func TestAServerThatSpeaksFirst(t *testing.T) {
	l := one(t)
	stream, _ := perMessage(t, l, &service{duplex: func(s duplexServer) error {
		for range 2 {
			_ = s.Send(&pb.StreamingOutputCallResponse{})
			_, _ = s.Recv()
		}
		return nil
	}})
	l.held(1)
	_, err := stream.Recv()
	require.NoError(t, err)
	l.told(window.Success)
	require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
	l.held(1)
	_, err = stream.Recv()
	require.NoError(t, err)
	l.told(window.Success)
}

func TestAMessageWaitsForItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		stream, _ := perMessage(t, l, &service{})
		exchange := func() error {
			if err := stream.Send(&pb.StreamingOutputCallRequest{}); err != nil {
				return err
			}
			_, err := stream.Recv()
			return err
		}
		require.NoError(t, exchange())
		l.told(window.Success)
		p, err := l.Acquire(t.Context())
		require.NoError(t, err)
		second := async(exchange)
		l.waiting(1)
		require.NoError(t, p.Done(window.Success))
		l.told(window.Success)
		require.NoError(t, <-second)
		l.told(window.Success)
		require.NoError(t, stream.CloseSend())
		_, err = stream.Recv()
		require.ErrorIs(t, err, io.EOF)
	})
}

// If the next message is sent before an answer came, the slot of the one before is given back, and
// nothing is learned from that one.
func TestAMessageThatIsOvertaken(t *testing.T) {
	l := one(t)
	client := limited(t, l, &service{}, grpc.WithDefaultCallOptions(aimdgrpc.SlotPerMessage()))
	stream, err := client.StreamingInputCall(t.Context())
	require.NoError(t, err)
	for range 3 {
		l.held(1)
		require.NoError(t, stream.Send(&pb.StreamingInputCallRequest{}))
		require.NoError(t, stream.Send(&pb.StreamingInputCallRequest{}))
		l.told(window.Neutral)
		require.NoError(t, stream.Send(&pb.StreamingInputCallRequest{}))
		l.told(window.Neutral)
		answer, err := stream.CloseAndRecv()
		require.NoError(t, err)
		assert.EqualValues(t, 3, answer.GetAggregatedPayloadSize())
		l.told(window.Success)
		stream, err = client.StreamingInputCall(t.Context())
		require.NoError(t, err)
	}
	_, err = stream.CloseAndRecv()
	require.NoError(t, err)
	l.told(window.Success)
}

func TestAMessageThatGetsNoSlotEndsTheStream(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		l := one(t)
		stream, _ := perMessage(t, l, &service{})
		exchanged(t, l, stream)
		l.Close()
		err := stream.Send(&pb.StreamingOutputCallRequest{})
		require.ErrorIs(t, err, limiter.ErrClosed)
		requireCode(t, codes.Canceled, err)
		_, err = stream.Recv()
		requireCode(t, codes.Canceled, err)
	})
	t.Run("cancelled in the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := one(t)
			stream, cancel := perMessage(t, l, &service{})
			exchanged(t, l, stream)
			p, err := l.Acquire(t.Context())
			require.NoError(t, err)
			sent := async(func() error { return stream.Send(&pb.StreamingOutputCallRequest{}) })
			l.waiting(1)
			cancel()
			require.Error(t, <-sent)
			_, err = stream.Recv()
			requireCode(t, codes.Canceled, err)
			require.NoError(t, p.Done(window.Success))
			l.told(window.Success)
		})
	})
	t.Run("ended by the server while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := one(t)
			goOn := make(chan struct{})
			stream, _ := perMessage(t, l, &service{duplex: func(s duplexServer) error {
				_, _ = s.Recv()
				_ = s.Send(&pb.StreamingOutputCallResponse{})
				<-goOn
				return refused
			}})
			exchanged(t, l, stream)
			p, err := l.Acquire(t.Context())
			require.NoError(t, err)
			sent := async(func() error { return stream.Send(&pb.StreamingOutputCallRequest{}) })
			l.waiting(1)
			close(goOn)
			_, err = stream.Recv()
			requireCode(t, codes.ResourceExhausted, err)
			require.ErrorIs(t, <-sent, io.EOF, "the status is for RecvMsg to tell")
			require.NoError(t, p.Done(window.Success))
			l.told(window.Success)
		})
	})
}

// exchanged sends a message and receives its answer.
func exchanged(t *testing.T, l watched, stream duplexClient) {
	t.Helper()
	require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
	_, err := stream.Recv()
	require.NoError(t, err)
	l.told(window.Success)
}

// Many streams share few slots, and none waits for itself.
func TestMoreStreamsThanSlots(t *testing.T) {
	l := watch(t, aimd.WithInitialWindow(2), aimd.WithMaxWindow(2))
	client := limited(t, l, &service{}, grpc.WithDefaultCallOptions(aimdgrpc.SlotPerMessage()))
	var all []<-chan error
	for range 16 {
		all = append(all, async(func() error {
			stream, err := client.FullDuplexCall(t.Context())
			if err != nil {
				return err
			}
			received := async(func() error {
				for {
					if _, err := stream.Recv(); err != nil {
						return err
					}
				}
			})
			for range 50 { // does not wait for the answers
				if err := stream.Send(&pb.StreamingOutputCallRequest{}); err != nil {
					return err
				}
			}
			if err := stream.CloseSend(); err != nil {
				return err
			}
			if err := <-received; err != io.EOF {
				return err
			}
			return nil
		}))
	}
	for _, ended := range all {
		require.NoError(t, <-ended)
	}
	assert.LessOrEqual(t, len(l.outcomes), 16*50+16)
	assert.Positive(t, len(l.outcomes))
	for len(l.outcomes) > 0 {
		assert.Contains(t, []window.Outcome{window.Success, window.Neutral}, <-l.outcomes)
	}
}
