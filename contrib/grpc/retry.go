package aimdgrpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/aimd-go/aimd/retry"
)

// Retry returns an option that makes every unary call of a client an operation of do, so that it may be
// made several times. do is the Do of a limiter, or of a retry.Policy's Runner:
//
//	opts := append([]grpc.DialOption{aimdgrpc.Retry(lim.Do), creds}, aimdgrpc.Limit(lim)...)
//
// It comes before the options of Limit and Tag, so that these see each attempt.
//
// For a policy, a call may be made twice (retry.WithIdempotent) if its .proto file says so: option
// idempotency_level = IDEMPOTENT or NO_SIDE_EFFECTS. A limiter without a policy does not ask: it tries
// again after a refusal, an UNAVAILABLE or a timeout, though the call may have been executed.
//
// A call whose first attempt fails for good fails with that error. Otherwise the error is an
// *attempt.Error, with the code of the last attempt or of the context's end. Streams are not retried:
// only the caller knows where to begin again. Retry panics if do is nil.
func Retry(do func(context.Context, func(context.Context) error) error) grpc.DialOption {
	if do == nil {
		panic("aimdgrpc: Retry with a nil function")
	}
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if idempotent(method) {
			ctx = retry.WithIdempotent(ctx)
		}
		return whole(do(ctx, func(ctx context.Context) error {
			return answered(ctx, invoke, method, req, reply, cc, opts)
		}))
	})
}

// idempotent reports whether the method's .proto file says that it may be called twice.
func idempotent(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	o, ok := d.Options().(*descriptorpb.MethodOptions)
	return ok && o.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}
