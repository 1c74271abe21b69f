package bucket

import (
	"context"
	"sync/atomic"

	"github.com/aws/smithy-go/middleware"
)

// attemptsKey is the key under which a context has its counter of attempts.
type attemptsKey struct{}

// CountAttempts returns a context whose requests are counted as they are sent.
func CountAttempts(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, attemptsKey{}, n), n
}

// Counting is the middleware that counts. Add it to the client's APIOptions.
func Counting(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("aimd-upload-attempts",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			if n, ok := ctx.Value(attemptsKey{}).(*atomic.Int64); ok {
				n.Add(1)
			}
			return next.HandleDeserialize(ctx, in)
		}), middleware.After)
}
