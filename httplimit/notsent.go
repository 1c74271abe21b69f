package httplimit

import (
	"context"
	"errors"
)

// NotSentError is the error of a request that got no slot, or that a guard
// refused. Nothing of it was sent, so it may be tried again even where it is not
// idempotent.
//
// It unwraps to the reason: limiter.ErrClosed, attempt.ErrQueueFull, what ended
// the request's context (context.Cause), the error of a guard, such as
// throttle.ErrThrottled, or the error of PerHost's newLimiter.
type NotSentError struct {
	// Err is the reason, never nil.
	Err error
}

func (e *NotSentError) Error() string { return "httplimit: not sent: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent says that nothing was sent. A retry policy acts upon it, and guards of
// an operation around the request count it for nothing.
func (e *NotSentError) NotSent() bool { return true }

// Timeout reports whether time ran out in the queue, as net.Error does;
// url.Error asks for it.
func (e *NotSentError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// cause is the error for a request that got none but err from the limiter. If
// the context ended, it is the cause of that, as with net/http.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}
