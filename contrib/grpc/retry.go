package aimdgrpc

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/retry"
)

// Retry returns an option that makes every unary call of a client an operation of do, so that
// it may be made several times. do is the Do of a limiter, or of a retry.Policy's Runner:
//
//	opts := append([]grpc.DialOption{aimdgrpc.Retry(lim.Do), creds}, aimdgrpc.Limit(lim)...)
//
// It comes before the options of Limit and Tag, so that these see each attempt.
//
// For a policy, a call may be made twice (retry.WithIdempotent) if its .proto file says so:
// option idempotency_level = IDEMPOTENT or NO_SIDE_EFFECTS. A limiter without a policy does
// not ask: it tries again after a refusal, an UNAVAILABLE or a timeout, though the call may
// have been executed.
//
// A call whose first attempt fails for good fails with that error. Otherwise the error is an
// *attempt.Error, with the code of the last attempt or of the context's end. Streams are not
// retried: only the caller knows where to begin again. Retry panics if do is nil.
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

// idempotent reports whether the .proto file of a method, "/package.Service/Method",
// says that it may be called twice.
func idempotent(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	o, ok := d.Options().(*descriptorpb.MethodOptions)
	return ok && o.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}

// whole is the error of a call that was an operation.
func whole(err error) error {
	var story *attempt.Error
	switch {
	case !errors.As(err, &story):
		return err
	case story.Attempts == 0:
		return &notSentError{story}
	case story.Attempts == 1 && story.Reason == nil:
		return story.Cause
	}
	if inner, ok := story.Cause.(*callError); ok {
		story.Cause = inner.story.Cause // it says the same
	}
	return &callError{story}
}

// explained adds the verdict's reason, if there is one, to the error of a call.
func explained(v attempt.Verdict, err error) error {
	if v.Reason == nil {
		return err
	}
	return &callError{&attempt.Error{Attempts: 1, Reason: v.Reason, Cause: err}}
}

// callError is the story of a call as a status.
type callError struct{ story *attempt.Error }

func (e *callError) Error() string { return e.story.Error() }
func (e *callError) Unwrap() error { return e.story }

// GRPCStatus returns the status of the last attempt, or of the context's end.
func (e *callError) GRPCStatus() *status.Status {
	if s := status.FromContextError(e.story.Reason); s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded {
		return status.New(s.Code(), e.Error())
	}
	p := status.Convert(e.story.Cause).Proto()
	p.Message = e.Error()
	return status.FromProto(p)
}
