package grpclimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/atomic"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

type server struct {
	controller *admission.Controller
	settings   ServerConfig
}

func (g *server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	s, err := g.admit(ctx, info.FullMethod, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) })
	if err != nil {
		return nil, err
	}
	// Also after a panic, and runtime.Goexit.
	defer s.end()
	reply, err := handle(s.ctx, req)
	s.ended(err)
	return reply, err
}

func (g *server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	s, err := g.admit(stream.Context(), info.FullMethod, stream.SetTrailer)
	if err != nil {
		return err
	}
	s.ServerStream = stream
	defer s.end()
	err = handle(srv, s)
	s.ended(err)
	return err
}

// admit waits for the call's place. Its error is a status.
func (g *server) admit(ctx context.Context, method string, setTrailer func(metadata.MD)) (*service, error) {
	tags := g.settings.Tags(ctx, method)
	s := &service{server: g, ctx: tag.NewContext(ctx, tags), outcome: window.Neutral}
	if g.settings.Bypass(ctx, method) {
		return s, nil
	}
	p, err := g.controller.Admit(s.ctx, tags)
	var shed *admission.Shed
	switch {
	case errors.As(err, &shed):
		setTrailer(metadata.Pairs(pushback, strconv.FormatInt(milliseconds(shed.RetryAfter), 10)))
		return nil, &refusal{shed, g.settings.Code}
	case err != nil:
		return nil, status.FromContextError(err).Err() // the client has gone
	}
	s.place, s.ctx = p, admission.NewContext(s.ctx, p)
	return s, nil
}

// milliseconds rounds up, since a client that comes back early is refused again.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// service is one call in service, and the stream that its handler gets: it sees when the answer begins.
type service struct {
	// head is the time that it took until the answer began, 0 before that. It comes first to be aligned on 32-bit machines.
	head atomic.Int64
	grpc.ServerStream
	server *server
	ctx    context.Context
	// place is the zero one of a call that passed by.
	place   admission.Place
	outcome window.Outcome
}

func (s *service) Context() context.Context { return s.ctx }

func (s *service) SendHeader(md metadata.MD) error {
	s.begin()
	return s.ServerStream.SendHeader(md)
}

func (s *service) SendMsg(m any) error {
	s.begin()
	return s.ServerStream.SendMsg(m)
}

func (s *service) begin() {
	if s.server.settings.Slow > 0 && s.head.Load() == 0 {
		s.head.CompareAndSwap(0, int64(max(s.place.Held(), 1)))
	}
}

func (s *service) ended(err error) {
	s.begin() // the answer of a handler that did not send
	set := &s.server.settings
	o := set.Outcome(codeOf(err))
	switch {
	case s.ctx.Err() == context.Canceled:
		// Whatever was answered: many handlers answer UNAVAILABLE then.
		o = window.Neutral
	case o == window.Overload:
	case set.Slow > 0 && time.Duration(s.head.Load()) > set.Slow:
		o = window.Timeout
	case s.ctx.Err() != nil, !o.Valid():
		o = window.Neutral
	}
	s.outcome = o
}

// codeOf is the code that gRPC sends for a handler's error.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}

// end gives the place back. The application may have released it early.
func (s *service) end() { s.place.Done(s.outcome) }

type refusal struct {
	shed *admission.Shed
	code codes.Code
}

func (r *refusal) Error() string { return r.GRPCStatus().Err().Error() + ": " + r.shed.Error() }
func (r *refusal) Unwrap() error { return r.shed }

// GRPCStatus is the status for the client, without a word about other callers.
func (r *refusal) GRPCStatus() *status.Status {
	s := status.New(r.code, "overloaded, try again later")
	if told, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.shed.RetryAfter)}); err == nil {
		return told
	}
	return s
}

// ServerConfig has the settings of [Admit]. Zero fields take the documented default.
type ServerConfig struct {
	// Code is the code of refusals: codes.Unavailable or codes.ResourceExhausted; 0 means Unavailable, after
	// which load balancers and gRPC's own retry policies commonly try elsewhere, or again.
	Code codes.Code
	// Bypass selects calls that need no place, never wait, and are never refused. method is the full method,
	// "/grpc.health.v1.Health/Check". nil selects gRPC's health service.
	Bypass func(ctx context.Context, method string) bool
	// Tags returns a call's tags; nil reads the well-formed tags of its metadata.
	Tags func(ctx context.Context, method string) tag.Tags
	// Outcome reads the code of a handler, for an adaptive limit; an invalid outcome counts as Neutral. nil is the
	// rule of Admit.
	Outcome func(codes.Code) window.Outcome
	// Slow is the time that a handler may take until its first message or header; 0 sets no limit. A slower handler
	// counts as a timeout for an adaptive limit, and continues. See admission.HandlerConfig.
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
	switch {
	case s.Code != codes.Unavailable && s.Code != codes.ResourceExhausted:
		return s, &setting.Error{Name: "Code", Value: s.Code.String(), Want: "Unavailable or ResourceExhausted"}
	case s.Slow < 0:
		return s, &setting.Error{Name: "Slow", Value: s.Slow.String(), Want: "a positive duration, or 0 for none"}
	}
	return s, nil
}

// Admit returns the options that put the controller in front of all services of a server. It admits as many calls
// at a time as the controller does, and refuses other calls with UNAVAILABLE and a jittered RetryInfo. The tags of
// [ParseTags] decide which calls are served first, and which are refused first.
//
// The trailer grpc-retry-pushback-ms has the delay of the RetryInfo too, for the retry policies of gRPC's
// own clients. To interceptors before these a refusal is an [*admission.Shed].
//
// The handler finds the tags ([tag.FromContext]) and the place ([admission.FromContext]) in its context.
// It holds its place until it returns; a stream that is mostly idle should release the place early.
//
// For an adaptive limit, a handler that ends with UNAVAILABLE or RESOURCE_EXHAUSTED is overload. A handler that
// ends with DEADLINE_EXCEEDED though the call has time left, and a handler slower than ServerConfig.Slow, are
// timeouts. A call whose client has left or whose deadline has passed, a panic, and the codes CANCELLED, UNKNOWN,
// INTERNAL, UNIMPLEMENTED and DATA_LOSS are neutral. Other ends are successes.
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
		err = &setting.Error{Name: "controller", Value: "nil"}
	}
	if err != nil {
		return nil, fmt.Errorf("grpclimit: %w", err)
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
