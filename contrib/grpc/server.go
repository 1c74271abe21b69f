package aimdgrpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.uber.org/atomic"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/aimd-go/aimd/admission"
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
	s.permit, s.ctx = p, admission.NewContext(s.ctx, p)
	return s, nil
}

// milliseconds rounds up, since a client that comes back early is refused again.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// service is one call in service, and the stream that its handler gets: it sees when the answer begins.
type service struct {
	grpc.ServerStream
	server *server
	ctx    context.Context
	// permit is the zero one of a call that passed by.
	permit  admission.Permit
	outcome window.Outcome
	// head is how long it took until the answer began, 0 before that.
	head atomic.Int64
}

// Context is the context of the call, with the permit and the tags.
func (s *service) Context() context.Context { return s.ctx }

// SendHeader notes that the answer begins.
func (s *service) SendHeader(md metadata.MD) error {
	s.begin()
	return s.ServerStream.SendHeader(md)
}

// SendMsg notes that the answer begins.
func (s *service) SendMsg(m any) error {
	s.begin()
	return s.ServerStream.SendMsg(m)
}

func (s *service) begin() {
	if s.server.settings.Slow > 0 && s.head.Load() == 0 {
		s.head.CompareAndSwap(0, int64(max(s.permit.Held(), 1)))
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
func (s *service) end() { _ = s.permit.Done(s.outcome) }

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
