package aimdgrpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Limit returns the options that put the limiter in front of all calls of a client:
//
//	conn, err := grpc.NewClient(target, append(aimdgrpc.Limit(lim), creds)...)
//
// A call without a slot fails with an [attempt.Error] of no attempt, so it may be tried again
// even if it is not idempotent. (For a stream with SlotPerMessage, this message was not sent,
// and the stream is over.) Its reason is limiter.ErrClosed, attempt.ErrQueueFull, or the error
// of a guard or of the context. To gRPC it is a status: CANCELLED or DEADLINE_EXCEEDED after
// the context's end, CANCELLED if the limiter is closed, otherwise RESOURCE_EXHAUSTED. To
// limiters it is neutral and final.
//
// One limiter stands for one service, or whatever has a limit of its own. Retry, and other
// interceptors that retry, come before these options. Limit panics if l is nil.
func Limit(l *limiter.Limiter) []grpc.DialOption {
	c := newClient(l)
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.unary), grpc.WithChainStreamInterceptor(c.stream)}
}

// client has the interceptors of a client.
type client struct{ limiter *limiter.Limiter }

func newClient(l *limiter.Limiter) *client {
	if l == nil {
		panic("aimdgrpc: the limiter is nil")
	}
	return &client{l}
}

// admit asks the limiter's guards, and waits for a slot.
func (c *client) admit(ctx context.Context) (*run.Attempt, error) {
	a, err := c.limiter.Begin(ctx)
	if err != nil {
		return nil, notSent(err)
	}
	return a.(*run.Attempt), nil
}

// notSentError is an attempt.Error of no attempt as a status, see Limit.
type notSentError struct{ story *attempt.Error }

func notSent(reason error) error { return &notSentError{&attempt.Error{Reason: reason}} }

func (e *notSentError) Error() string { return e.GRPCStatus().Err().Error() }
func (e *notSentError) Unwrap() error { return e.story }

func (e *notSentError) GRPCStatus() *status.Status {
	code := codes.ResourceExhausted
	switch {
	case errors.Is(e.story, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(e.story, context.Canceled), errors.Is(e.story, limiter.ErrClosed):
		code = codes.Canceled
	}
	return status.New(code, "aimdgrpc: not sent: "+e.story.Reason.Error())
}

// Verdict is neutral, whatever the code: the service was not asked.
func (e *notSentError) Verdict() attempt.Verdict { return attempt.Verdict{Outcome: window.Neutral} }
