package aimdgrpc

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// unary waits for a slot, and gives it back when the call returns.
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
