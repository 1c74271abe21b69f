package retry

import (
	"context"
	"errors"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/internal/policy"
	"github.com/aimd-go/aimd/window"
)

// Reasons of a policy, besides attempt.ErrAttempts.
var (
	// ErrNotIdempotent: the error might pass, but the work may have been done, and is not idempotent.
	ErrNotIdempotent = errors.New("retry: not known to be idempotent")
	// ErrBackoff: the backoff allows no further retry.
	ErrBackoff = policy.ErrBackoff
)

type idempotentKey struct{}

// WithIdempotent returns a context that says that the work done under it may be done twice, with the same
// effect as once: reading, putting a value in a place, deleting; not adding to a list or charging a card.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// may reports whether the terms allow another attempt after the error, and if not, why.
func (p *Policy) may(ctx context.Context, err error, v attempt.Verdict) (bool, error) {
	if p.c.If != nil {
		return p.c.If(err), nil
	}
	unsent := notSent(err)
	// To wait in line again may help, where a classifier knows no more than that there was no answer.
	full := unsent && (errors.Is(err, attempt.ErrQueueFull) || errors.Is(err, context.DeadlineExceeded))
	switch {
	case !v.Retry && !full:
		return false, nil
	case unsent, p.c.Idempotent, ctx.Value(idempotentKey{}) != nil, v.Outcome == window.Timeout && p.c.Timeouts:
		return true, nil
	}
	return false, ErrNotIdempotent
}

// notSent reports whether the request got no slot or no connection.
func notSent(err error) bool {
	var story *attempt.Error
	if errors.As(err, &story) && story.Attempts > 1 {
		return false // the last attempt was not sent; those before it may have been
	}
	return fact.Of(err).Unsent || fact.Undialed(err)
}
