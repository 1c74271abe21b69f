package aimdgrpc

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/limiter"
)

// Limit returns the options that put the limiter in front of all calls of a client.
//
// A call without a slot fails with an [attempt.Error] of no attempt, so it may be tried again even if it
// is not idempotent. (For a stream with SlotPerMessage, this message was not sent, and the stream is
// over.) Its reason is limiter.ErrClosed, attempt.ErrQueueFull, or the error of a guard or of the
// context. To gRPC it is a status: CANCELLED or DEADLINE_EXCEEDED after the context's end, CANCELLED if
// the limiter is closed, otherwise RESOURCE_EXHAUSTED. To limiters it is neutral and final.
//
// One limiter stands for one service, or whatever has a limit of its own. Retry, and other interceptors
// that retry, come before these options. Limit panics if l is nil.
func Limit(l *limiter.Limiter) []grpc.DialOption {
	c := newClient(l)
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.unary), grpc.WithChainStreamInterceptor(c.stream)}
}

type client struct{ limiter *limiter.Limiter }

func newClient(l *limiter.Limiter) *client {
	if l == nil {
		panic("aimdgrpc: the limiter is nil")
	}
	return &client{l}
}

func (c *client) admit(ctx context.Context) (*run.Attempt, error) {
	a, err := c.limiter.Begin(ctx)
	if err != nil {
		return nil, notSent(err)
	}
	return a.(*run.Attempt), nil
}

func (c *client) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	a, err := c.admit(ctx)
	if err != nil {
		return err
	}
	defer a.Drop() // a panic in what is inside of this
	err = answered(a.Context(), invoke, method, req, reply, cc, opts)
	return explained(a.End(err), err)
}

// answered makes a call, and reads its error.
func answered(ctx context.Context, invoke grpc.UnaryInvoker, method string, req, reply any, cc *grpc.ClientConn, opts []grpc.CallOption) error {
	var header, trailer metadata.MD
	err := invoke(ctx, method, req, reply, cc, append(slices.Clip(opts), grpc.Header(&header), grpc.Trailer(&trailer))...)
	return read(err, trailer, len(header)+len(trailer) > 0)
}
