package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
)

// Limit returns the options that put the limiter in front of all calls of a client.
//
// A call without a slot fails with an [attempt.Error] of no attempt, so it may be tried again even if it
// is not idempotent. Its reason is aimd.ErrClosed, aimd.ErrQueueFull, or the error of a guard or of the
// context. To gRPC it is a status: CANCELLED or DEADLINE_EXCEEDED after the context's end, CANCELLED if
// the limiter is closed, otherwise RESOURCE_EXHAUSTED. To limiters it is neutral and final.
//
// One limiter is for one limit, such as a service. Retry, and other interceptors that retry, come before these
// options. Limit panics if l is nil.
func Limit(l *aimd.Limiter) []grpc.DialOption {
	return newClient(l).options()
}

// LimitBy is Limit with a limiter for each class of calls. class names the class of a method, such as
// "/package.Service/Method". A nil class is the method itself. A call whose class has no limiter fails, and is not
// sent. LimitBy panics if limiters is nil.
func LimitBy(limiters *aimd.Keyed[string], class func(method string) string) []grpc.DialOption {
	if limiters == nil {
		panic("grpclimit: the limiters are nil")
	}
	c := &client{func(method string) (*aimd.Limiter, error) {
		key := method
		if class != nil {
			key = class(method)
		}
		l, err := limiters.For(key)
		if err != nil {
			return nil, fmt.Errorf("no limiter for %s: %w", method, err)
		}
		return l, nil
	}}
	return c.options()
}

func (c *client) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.unary), grpc.WithChainStreamInterceptor(c.stream)}
}

type client struct {
	limiter func(method string) (*aimd.Limiter, error)
}

func newClient(l *aimd.Limiter) *client {
	if l == nil {
		panic("grpclimit: the limiter is nil")
	}
	return &client{func(string) (*aimd.Limiter, error) { return l, nil }}
}

func (c *client) admit(ctx context.Context, method string) (*attempt.Attempt, error) {
	l, err := c.limiter(method)
	if err == nil {
		var a *attempt.Attempt
		if a, err = l.Begin(ctx); err == nil {
			return a, nil
		}
	}
	return nil, notSent(err)
}

func (c *client) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	a, err := c.admit(ctx, method)
	if err != nil {
		return err
	}
	defer a.Drop() // a panic in what is inside of this
	err = answered(a.Context(), invoke, method, req, reply, cc, opts)
	return explained(a.End(err).Reason, err)
}

func answered(ctx context.Context, invoke grpc.UnaryInvoker, method string, req, reply any, cc *grpc.ClientConn, opts []grpc.CallOption) error {
	var header, trailer metadata.MD
	err := invoke(ctx, method, req, reply, cc, append(slices.Clip(opts), grpc.Header(&header), grpc.Trailer(&trailer))...)
	return read(err, trailer, len(header)+len(trailer) > 0)
}

// callError is an attempt.Error as a status, see Limit and Retry.
type callError struct{ story *attempt.Error }

func notSent(reason error) error { return &callError{&attempt.Error{Reason: reason}} }

// whole is the error of a call that was an operation.
func whole(err error) error {
	var story *attempt.Error
	switch {
	case !errors.As(err, &story):
		return err
	case story.Attempts == 1 && story.Reason == nil:
		return story.Cause
	}
	if inner, ok := story.Cause.(*callError); ok && inner.story.Attempts > 0 {
		story.Cause = inner.story.Cause // inner has the same reason
	}
	return &callError{story}
}

// explained adds the verdict's reason, if there is one, to the error of a call.
func explained(reason, err error) error {
	if reason == nil {
		return err
	}
	return &callError{&attempt.Error{Attempts: 1, Reason: reason, Cause: err}}
}

func (e *callError) Unwrap() error { return e.story }

func (e *callError) Error() string {
	if e.story.Attempts == 0 {
		return e.GRPCStatus().Err().Error()
	}
	return e.story.Error()
}

// Facts says that a call which was not sent is final, whatever its code.
func (e *callError) Facts() (f verdict.Facts) {
	if e.story.Attempts == 0 {
		f.Verdict.Meaning = answer.Final
	}
	return f
}

// GRPCStatus returns the status of the context's end or of the last attempt.
func (e *callError) GRPCStatus() *status.Status {
	code := status.FromContextError(e.story.Reason).Code()
	ended := code == codes.Canceled || code == codes.DeadlineExceeded
	switch {
	case e.story.Attempts == 0:
		if errors.Is(e.story, aimd.ErrClosed) || errors.Is(e.story, context.Canceled) {
			code = codes.Canceled
		} else if !ended {
			code = codes.ResourceExhausted
		}
		return status.New(code, "grpclimit: not sent: "+e.story.Reason.Error())
	case ended:
		return status.New(code, e.Error())
	}
	p := status.Convert(e.story.Cause).Proto()
	p.Message = e.Error()
	return status.FromProto(p)
}

// Retry returns an option that makes every unary call of a client an operation of do, so that it may be
// made several times. do is the Do of a limiter, or of a retry.Policy's Runner:
//
//	opts := append([]grpc.DialOption{grpclimit.Retry(lim.Do), creds}, grpclimit.Limit(lim)...)
//
// It comes before the options of Limit and Tag, so that these see each attempt.
//
// For a policy, a call may be made twice (retry.WithIdempotent) if its .proto file says so: option
// idempotency_level = IDEMPOTENT or NO_SIDE_EFFECTS. A limiter without a policy does not ask: it tries
// again after a refusal, an UNAVAILABLE or a timeout, though the call may have been executed.
//
// A call whose first attempt has a final error fails with that error. Otherwise the error is an *attempt.Error,
// with the code of the last attempt or of the context's end. Streams are not retried: only the caller knows the
// point from which to begin again. Retry panics if do is nil.
func Retry(do func(context.Context, func(context.Context) error) error) grpc.DialOption {
	if do == nil {
		panic("grpclimit: Retry with a nil function")
	}
	return grpc.WithChainUnaryInterceptor(retried(do))
}

func retried(do func(context.Context, func(context.Context) error) error) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if idempotent(method) {
			ctx = retry.WithIdempotent(ctx)
		}
		return whole(do(ctx, func(ctx context.Context) error {
			return answered(ctx, invoke, method, req, reply, cc, opts)
		}))
	}
}

// Do is l.Do for a function that makes calls of gRPC. Its error has a status, as the error of a call has. It is
// DEADLINE_EXCEEDED if the time ran out before the call or between two attempts, which to status.Code is UNKNOWN
// or the refusal before, in the error of l.Do. A function whose only attempt has a final error fails with that
// error, and otherwise the error is an *attempt.Error.
func Do(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
	return whole(l.Do(ctx, fn))
}

func idempotent(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	o, ok := d.Options().(*descriptorpb.MethodOptions)
	return ok && o.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}
