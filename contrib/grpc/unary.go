package aimdgrpc

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
)

// UnaryClientInterceptor is the part of Limit for calls with one request and one
// answer: each waits for a slot, and gives it back when it returned.
func UnaryClientInterceptor(l *limiter.Limiter) grpc.UnaryClientInterceptor {
	return newClient(l).unary
}

func (c *client) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	a, err := c.admit(ctx, attempt.Number(ctx))
	if err != nil {
		return err
	}
	defer a.Drop() // a panic in what is inside of this
	var trailer metadata.MD
	err = invoke(a.Context(), method, req, reply, cc, append(slices.Clip(opts), grpc.Trailer(&trailer))...)
	err = told(err, trailer)
	return explained(a.End(err), err)
}
