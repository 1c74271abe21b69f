package attempt

import (
	"context"

	"github.com/aimd-go/aimd/internal/fact"
)

// Number returns which attempt of its operation the context belongs to, from 1; 0: not known.
func Number(ctx context.Context) int {
	n, _ := ctx.Value(fact.NumberKey{}).(int)
	return n
}

// WithRetry marks the attempt that is begun with the context as a retry. It waits for its slot at the front of
// the queue, behind other retries, and the queue's bound does not apply. The attempts of limiters, of retry.Do
// and of httplimit's clients are marked already.
func WithRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, fact.NumberKey{}, max(Number(ctx), 2))
}
