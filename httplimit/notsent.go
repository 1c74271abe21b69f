package httplimit

import (
	"context"
	"errors"

	"github.com/aimd-go/aimd/attempt"
)

// notSent is the error of a request that got no slot, for that reason.
func notSent(ctx context.Context, reason error) error {
	return &attempt.Error{Reason: cause(ctx, reason)}
}

// unanswered is the error of a request that got no answer, as an attempt is told it.
type unanswered struct{ error }

func (u unanswered) Unwrap() error    { return u.error }
func (u unanswered) Unanswered() bool { return true }

// cause is the error for a request that got none but err from the limiter. If
// the context ended, it is the cause of that, as with net/http.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}
