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

// ServerConfig is how [Admit] and the server interceptors do their work. Zero
// fields take the documented default.
type ServerConfig struct {
	// Code is that of refusals: codes.Unavailable or codes.ResourceExhausted; 0 means
	// Unavailable. Load balancers and gRPC's own retry policies commonly try elsewhere,
	// or again, after the first, and not after the second.
	Code codes.Code
	// Bypass says which calls need no place, never wait, and are never refused. method
	// is the full one, "/grpc.health.v1.Health/Check". nil: those of gRPC's health
	// service. To refuse a probe takes the server out of service when it is needed most,
	// and a Watch would hold a place for ever.
	Bypass func(ctx context.Context, method string) bool
	// Tags says where a call's tags come from; nil: from its metadata, without those
	// that are malformed. To log these, call ParseTags here. Where clients may lie about
	// themselves, make the tags from what they have proved, such as the certificate.
	Tags func(ctx context.Context, method string) tag.Tags
	// Outcome says what the code with which a handler ended says to an adaptive
	// limit; what is no valid outcome counts as Neutral. nil: as the comment of
	// Admit says. Set it where a RESOURCE_EXHAUSTED speaks of one client's quota,
	// not of the load: such a client could narrow the limit for all.
	Outcome func(codes.Code) window.Outcome
	// Slow is how long a handler may take until its first message or header; what is
	// slower counts as a timeout for an adaptive limit, and goes on. Set it for a service
	// that gets slow instead of refusing, say, to five times what a call takes without
	// load. 0: none is too slow.
	Slow time.Duration
}

func (s ServerConfig) withDefaults() (ServerConfig, error) {
	s.Code = cmp.Or(s.Code, codes.Unavailable)
	if s.Bypass == nil {
		s.Bypass = isHealth
	}
	if s.Tags == nil {
		s.Tags = incomingTags
	}
	if s.Outcome == nil {
		s.Outcome = outcomeOf
	}
	return s, cmp.Or(
		setting.OneOf("code of refusals", s.Code, codes.Unavailable, codes.ResourceExhausted),
		setting.Optional("slow", s.Slow),
	)
}

// Admit returns the options that put the controller in front of all services of
// a server: it lets through as many calls at a time as it admits, and refuses
// the rest with UNAVAILABLE and a jittered RetryInfo. Which is served first, and which
// refused first, goes by the tags of [ParseTags].
//
//	opts, err := aimdgrpc.Admit(controller, aimdgrpc.ServerConfig{})
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
// has time left, and one slower than ServerConfig.Slow allows, a timeout. These are
// neutral: a call whose client has gone, whatever it ended with; else one whose deadline,
// which the client chooses, has passed; a panic; and the codes CANCELLED, UNKNOWN,
// INTERNAL, UNIMPLEMENTED and DATA_LOSS. All else is a success.
//
// gRPC reads the request of a unary call before it asks any interceptor, so a waiting
// call has its request in memory. To bound the calls of one
// connection before that, there is grpc.MaxConcurrentStreams.
func Admit(c *admission.Controller, s ServerConfig) ([]grpc.ServerOption, error) {
	g, err := newServer(c, s)
	if err != nil {
		return nil, err
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(g.unary), grpc.ChainStreamInterceptor(g.stream)}, nil
}

// UnaryServerInterceptor is the part of Admit for calls with one request and one
// answer.
func UnaryServerInterceptor(c *admission.Controller, s ServerConfig) (grpc.UnaryServerInterceptor, error) {
	g, err := newServer(c, s)
	if err != nil {
		return nil, err
	}
	return g.unary, nil
}

// StreamServerInterceptor is the part of Admit for streams.
func StreamServerInterceptor(c *admission.Controller, s ServerConfig) (grpc.StreamServerInterceptor, error) {
	g, err := newServer(c, s)
	if err != nil {
		return nil, err
	}
	return g.stream, nil
}

func newServer(c *admission.Controller, s ServerConfig) (*server, error) {
	s, err := s.withDefaults()
	if c == nil {
		err = setting.Nil("controller")
	}
	if err != nil {
		return nil, fmt.Errorf("aimdgrpc: %w", err)
	}
	return &server{controller: c, settings: s}, nil
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
