package httplimit

import (
	"context"

	"github.com/aimd-go/aimd/attempt"
)

type retryKey struct{}

// WithRetry marks the requests of the context as retries: they wait for their
// slot at the front of the queue, behind others of their kind, and its bound
// does not apply. An operation that failed once then does not fail again for
// standing at the end of the queue:
//
//	req = req.WithContext(httplimit.WithRetry(req.Context()))
//
// Mark only what is a retry. Where every request is marked, new ones pass
// those that wait, and the bound bounds nothing. The later attempts of retry.Do
// and of a [Retrier] are marked by themselves.
func WithRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, retryKey{}, true)
}

// attemptNumber is the number of the context's attempt, 0 if it is not known.
func attemptNumber(ctx context.Context) int {
	n := attempt.Number(ctx)
	if ctx.Value(retryKey{}) != nil {
		n = max(n, 2)
	}
	return n
}
