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

// Verdict says that the error says nothing about load, whatever its code.
func (e *notSentError) Verdict() attempt.Verdict { return attempt.Verdict{Outcome: window.Neutral} }
