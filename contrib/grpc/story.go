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
func explained(v attempt.Verdict, err error) error {
	if v.Reason == nil {
		return err
	}
	return &callError{&attempt.Error{Attempts: 1, Reason: v.Reason, Cause: err}}
}

func (e *callError) Unwrap() error { return e.story }

func (e *callError) Error() string {
	if e.story.Attempts == 0 {
		return e.GRPCStatus().Err().Error()
	}
	return e.story.Error()
}

// Verdict is neutral for a call that was not sent, whatever its code, and otherwise unknown.
func (e *callError) Verdict() attempt.Verdict {
	if e.story.Attempts == 0 {
		return attempt.Verdict{Outcome: window.Neutral}
	}
	return attempt.Verdict{}
}

// GRPCStatus returns the status of the context's end or of the last attempt.
func (e *callError) GRPCStatus() *status.Status {
	code := status.FromContextError(e.story.Reason).Code()
	ended := code == codes.Canceled || code == codes.DeadlineExceeded
	switch {
	case e.story.Attempts == 0:
		if errors.Is(e.story, limiter.ErrClosed) || errors.Is(e.story, context.Canceled) {
			code = codes.Canceled
		} else if !ended {
			code = codes.ResourceExhausted
		}
		return status.New(code, "aimdgrpc: not sent: "+e.story.Reason.Error())
	case ended:
		return status.New(code, e.Error())
	}
	p := status.Convert(e.story.Cause).Proto()
	p.Message = e.Error()
	return status.FromProto(p)
}
