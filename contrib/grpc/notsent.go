package aimdgrpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// NotSentError is the error of a call that got no slot. Nothing of it was
// sent, so it may be tried again even where it is not idempotent. (Of a stream
// with SlotPerMessage, this message was not sent, and the stream is over.)
//
// It unwraps to the reason: limiter.ErrClosed, attempt.ErrQueueFull, what a guard
// of the limiter said (a throttle.ErrThrottled, say), or the context's error. To gRPC it is a status: CANCELLED and DEADLINE_EXCEEDED
// if the context ended, CANCELLED also if the limiter is closed, as
// of a connection that is closing, and RESOURCE_EXHAUSTED else: what ran out is
// what this client allows itself. To limiters it is neutral and final.
type NotSentError struct {
	// Err is the reason, never nil.
	Err error
}

func (e *NotSentError) Error() string { return e.GRPCStatus().Err().Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// GRPCStatus returns the status that stands for the error.
func (e *NotSentError) GRPCStatus() *status.Status {
	code := codes.ResourceExhausted
	switch {
	case errors.Is(e.Err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(e.Err, context.Canceled), errors.Is(e.Err, limiter.ErrClosed):
		code = codes.Canceled
	}
	return status.New(code, "aimdgrpc: not sent: "+e.Err.Error())
}

// NotSent says that there was no answer, whatever the status. Guards (see
// attempt.Guard) count such an attempt for nothing.
func (e *NotSentError) NotSent() bool { return true }

// Verdict says that the error says nothing about load, whatever its code.
func (e *NotSentError) Verdict() attempt.Verdict { return attempt.Verdict{Outcome: window.Neutral} }
