package aimdgrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"

	"github.com/aimd-go/aimd/window"
)

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
