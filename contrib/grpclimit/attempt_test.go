package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// A call and a stream end their attempt in each way in which they may end.
func TestTheLifeOfAnAttempt(t *testing.T) {
	// served has the words of gRPC for what the network does.
	served := func(ctx context.Context, send func(context.Context) error) error {
		switch err := send(ctx); {
		case errors.Is(err, attempttest.ErrRefused):
			return refused
		case ctx.Err() != nil:
			return status.FromContextError(ctx.Err()).Err()
		case err != nil:
			return status.Error(codes.Unavailable, err.Error())
		}
		return nil
	}
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error {
		return invoke(ctx, watched{Limiter: l}, func(ctx context.Context) error { return served(ctx, send) })
	})
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error {
		stream, err := open(ctx, watched{Limiter: l}, func(ctx context.Context, _ []grpc.CallOption) (grpc.ClientStream, error) {
			return handmade{end: func() error { return io.EOF }}, served(ctx, send)
		})
		if err != nil {
			return err
		}
		require.ErrorIs(t, stream.RecvMsg(nil), io.EOF)
		return nil
	})
}
