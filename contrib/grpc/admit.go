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

// ServerConfig is how [Admit] does its work. Zero fields take the documented default.
type ServerConfig struct {
	// Code is the code of refusals: codes.Unavailable or codes.ResourceExhausted; 0 means Unavailable, after
	// which load balancers and gRPC's own retry policies commonly try elsewhere, or again.
	Code codes.Code
	// Bypass selects calls that need no place, never wait, and are never refused. method is the full one,
	// "/grpc.health.v1.Health/Check". nil selects gRPC's health service.
	Bypass func(ctx context.Context, method string) bool
	// Tags returns a call's tags; nil reads the well-formed ones from its metadata.
	Tags func(ctx context.Context, method string) tag.Tags
	// Outcome reads the code with which a handler ended, for an adaptive limit; an invalid outcome counts
	// as Neutral. nil is the rule of Admit.
	Outcome func(codes.Code) window.Outcome
	// Slow is how long a handler may take until its first message or header; 0 sets no limit. A slower one
	// counts as a timeout for an adaptive limit, and continues. See httplimit.HandlerConfig.
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

// Admit returns the options that put the controller in front of all services of a server. It admits as
// many calls at a time as the controller does, and refuses the rest with UNAVAILABLE and a jittered
// RetryInfo. The tags of [ParseTags] decide which calls are served first, and which refused first.
//
// The trailer grpc-retry-pushback-ms has the delay of the RetryInfo too, for the retry policies of gRPC's
// own clients. To interceptors before these a refusal is an [*admission.Shed].
//
// The handler finds the tags ([tag.FromContext]) and the permit ([admission.FromContext]) in its context.
// It holds its place until it returns; a stream that is mostly idle should release the permit early.
//
// For an adaptive limit, a handler that ends with UNAVAILABLE or RESOURCE_EXHAUSTED is overload. One that
// ends with DEADLINE_EXCEEDED though the call has time left, and one slower than ServerConfig.Slow, are
// timeouts. Neutral are a call whose client has left or whose deadline has passed, a panic, and the codes
// CANCELLED, UNKNOWN, INTERNAL, UNIMPLEMENTED and DATA_LOSS. Everything else is a success.
//
// A waiting unary call has its request in memory. grpc.MaxConcurrentStreams bounds the calls of one
// connection.
func Admit(c *admission.Controller, s ServerConfig) ([]grpc.ServerOption, error) {
	g, err := newServer(c, s)
	if err != nil {
		return nil, err
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(g.unary), grpc.ChainStreamInterceptor(g.stream)}, nil
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

func incomingTags(ctx context.Context, _ string) tag.Tags {
	md, _ := metadata.FromIncomingContext(ctx)
	t, _ := ParseTags(md)
	return t
}

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
