package bucket

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
)

// Wire watches the requests of a client where they are sent.
type Wire struct {
	mu sync.Mutex
	// trouble is the last error of sending, since when there were such errors and
	// no answer in between. Guarded by mu.
	trouble error
	since   time.Time
}

// Trouble is why no answers have come for some time; nil: they come.
func (w *Wire) Trouble(longer time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == nil || time.Since(w.since) < longer {
		return nil
	}
	return innermost(w.trouble)
}

func (w *Wire) saw(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == nil {
		w.since = time.Now()
	}
	w.trouble = err
}

// Watch is the middleware. Add it to the client's APIOptions.
func (w *Wire) Watch(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("aimd-upload-wire",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			if n, ok := ctx.Value(attemptsKey{}).(*atomic.Int64); ok {
				n.Add(1)
			}
			out, metadata, err := next.HandleDeserialize(ctx, in)
			if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
				w.saw(err)
			}
			return out, metadata, err
		}), middleware.After)
}

// attemptsKey is the key under which a context has its counter of attempts.
type attemptsKey struct{}

// CountAttempts returns a context whose requests are counted as they are sent.
func CountAttempts(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, attemptsKey{}, n), n
}
