package httplimit

import "context"

type retryKey struct{}

// WithRetry marks the requests of the context as retries: they wait for their
// slot at the front of the queue, behind others of their kind, and its bound
// does not apply. An operation that failed once then does not fail again for
// standing at the end of the queue:
//
//	req = req.WithContext(httplimit.WithRetry(req.Context()))
//
// Mark only what is a retry. Where every request is marked, new ones pass
// those that wait, and the bound bounds nothing.
func WithRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, retryKey{}, true)
}

func isRetry(ctx context.Context) bool { return ctx.Value(retryKey{}) != nil }
