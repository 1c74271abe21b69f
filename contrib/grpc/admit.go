package aimdgrpc

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// ServerOption is a setting of [Admit] and the server interceptors; 0 and nil mean
// the default. A wrong value is an error of theirs that names the setting, the
// value and what is allowed.
type ServerOption func(*serverSettings) error

type serverSettings struct {
	code    codes.Code
	bypass  func(ctx context.Context, method string) bool
	tags    func(ctx context.Context, method string) tag.Tags
	outcome func(codes.Code) window.Outcome
	slow    time.Duration
}

// WithCode sets the code of refusals: codes.Unavailable, the default, or
// codes.ResourceExhausted. Balancers and the retry policies of gRPC's own
// clients commonly take the first as a sign to try elsewhere, or again, and the
// second not.
func WithCode(c codes.Code) ServerOption {
	return func(s *serverSettings) error {
		s.code = cmp.Or(c, codes.Unavailable)
		return setting.OneOf("code of refusals", s.code, codes.Unavailable, codes.ResourceExhausted)
	}
}

// WithBypass sets which calls pass by: they need no place, never wait, and are
// never refused. method is the full one, "/grpc.health.v1.Health/Check". Default:
// those of gRPC's health service. A probe that is refused takes the server out of
// service when it is needed most, and a Watch would hold a place for good.
func WithBypass(pass func(ctx context.Context, method string) bool) ServerOption {
	return func(s *serverSettings) error {
		if pass != nil {
			s.bypass = pass
		}
		return nil
	}
}

// WithTags sets where a call's tags come from. Default: from its metadata, what
// is malformed there left out and told to nobody; to log it, call ParseTags here.
// Where clients may lie about themselves, make the
// tags from what they have proved, such as the certificate.
func WithTags(of func(ctx context.Context, method string) tag.Tags) ServerOption {
	return func(s *serverSettings) error {
		if of != nil {
			s.tags = of
		}
		return nil
	}
}

// WithOutcome sets what the code with which a handler ended says to an adaptive
// limit; what is no valid outcome counts as Neutral. Default: as the comment of
// [Admit] says. Set it where a RESOURCE_EXHAUSTED speaks of one client's quota, not
// of the load: such a client could narrow the limit for all.
func WithOutcome(of func(codes.Code) window.Outcome) ServerOption {
	return func(s *serverSettings) error {
		if of != nil {
			s.outcome = of
		}
		return nil
	}
}

// WithSlow sets how long a handler may take until its first message or header;
// what is slower counts as a timeout for an adaptive limit. It is what makes an
// adaptive limit of use for a service that gets slow rather than refuse: say,
// five times what it takes without load. The call goes on. Default: none is too
// slow.
func WithSlow(d time.Duration) ServerOption {
	return func(s *serverSettings) error {
		s.slow = d
		return setting.Optional("slow", d)
	}
}

// Admit returns the options that put the controller in front of all services of
// a server: it lets through as many calls at a time as it admits, and refuses
// the rest with UNAVAILABLE and a jittered RetryInfo. Who is served first, and who
// is refused first, goes by the tags of [ParseTags].
//
//	opts, err := aimdgrpc.Admit(controller)
//	...
//	server := grpc.NewServer(opts...)
//
// The delay of the RetryInfo is also in the trailer grpc-retry-pushback-ms, so that
// the retry policies of gRPC's own clients wait for it too.
//
// The handler finds the tags in its context ([tag.FromContext]), and with
// [admission.FromContext] the permit, which tells how long the call waited and
// can be released early. It holds its place until it returns. A stream that idles
// most of the time should release it early. To interceptors before these a
// refusal is an [*admission.Shed].
//
// What an adaptive limit hears: a handler that ends with UNAVAILABLE or
// RESOURCE_EXHAUSTED is overload; one that ends with DEADLINE_EXCEEDED though the call
// has time left, and one slower than [WithSlow] allows, a timeout. A call whose
// client has gone says nothing, whatever it ended with; nor does one else whose deadline,
// which the client chooses by itself, has passed. Nor do a panic and the codes CANCELLED, UNKNOWN,
// INTERNAL, UNIMPLEMENTED and DATA_LOSS. All else is a success.
//
// gRPC reads the request of a unary call before it asks any interceptor, so what
// waits in the queue has its request in memory. To bound the calls of one
// connection before that, there is grpc.MaxConcurrentStreams.
func Admit(c *admission.Controller, opts ...ServerOption) ([]grpc.ServerOption, error) {
	g, err := newGate(c, opts)
	if err != nil {
		return nil, err
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(g.unary), grpc.ChainStreamInterceptor(g.stream)}, nil
}

// UnaryServerInterceptor is the part of Admit for calls with one request and one
// answer.
func UnaryServerInterceptor(c *admission.Controller, opts ...ServerOption) (grpc.UnaryServerInterceptor, error) {
	g, err := newGate(c, opts)
	if err != nil {
		return nil, err
	}
	return g.unary, nil
}

// StreamServerInterceptor is the part of Admit for streams.
func StreamServerInterceptor(c *admission.Controller, opts ...ServerOption) (grpc.StreamServerInterceptor, error) {
	g, err := newGate(c, opts)
	if err != nil {
		return nil, err
	}
	return g.stream, nil
}

func newGate(c *admission.Controller, opts []ServerOption) (*gate, error) {
	if c == nil {
		return nil, fmt.Errorf("aimdgrpc: %w", setting.Nil("controller"))
	}
	g := &gate{controller: c, settings: serverSettings{
		code: codes.Unavailable, bypass: isHealth, tags: incomingTags, outcome: outcomeOf,
	}}
	for _, o := range opts {
		if err := o(&g.settings); err != nil {
			return nil, fmt.Errorf("aimdgrpc: %w", err)
		}
	}
	return g, nil
}

// isHealth reports whether the method is of the health service:
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md
func isHealth(_ context.Context, method string) bool {
	return strings.HasPrefix(method, "/grpc.health.v1.Health/")
}

// incomingTags are the well-formed tags of the call's metadata.
func incomingTags(ctx context.Context, _ string) tag.Tags {
	md, _ := metadata.FromIncomingContext(ctx)
	t, _ := ParseTags(md)
	return t
}

// outcomeOf is what the code of an answer says of the load.
func outcomeOf(c codes.Code) window.Outcome {
	switch c {
	case codes.Unavailable, codes.ResourceExhausted:
		return window.Overload
	case codes.DeadlineExceeded:
		return window.Timeout
	case codes.Canceled, codes.Unknown, codes.Internal, codes.Unimplemented, codes.DataLoss:
		return window.Neutral
	}
	return window.Success
}
