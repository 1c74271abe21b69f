package bucket

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

// Wire watches the requests of a client where they are sent.
type Wire struct {
	mu sync.Mutex
	// trouble is the last error of sending, since when there were such errors and
	// no answer in between. Guarded by mu.
	trouble error
	since   time.Time

	// longest is the longest answer that is read, in bytes; 0: answerMost.
	longest int64
}

// Trouble is why no answers have come for some time; nil: they come.
func (w *Wire) Trouble(longer time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == nil || time.Since(w.since) < longer {
		return nil
	}
	return reach.Innermost(w.trouble)
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
			if f := followed(ctx); f != nil {
				f.attempts.Add(1)
			}
			send := next.HandleDeserialize
			if t, ok := ctx.Value(transferKey{}).(*transfer); ok {
				send = t.through(send)
			}
			out, metadata, err := send(ctx, in)
			if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
				w.saw(err)
			}
			if r, ok := out.RawResponse.(*smithyhttp.Response); ok && r != nil && r.Response != nil && r.Body != nil {
				r.Body = &bounded{ReadCloser: r.Body, left: cmp.Or(w.longest, answerMost)}
			}
			return out, metadata, err
		}), middleware.After)
}

// answerMost is the longest answer that is read, in bytes: a page of a listing, a
// thousand keys of 1 KiB and what is told of each, has some 5 MiB. Our choice.
const answerMost = 16 << 20

// errLongAnswer is of an answer that would fill the memory.
var errLongAnswer = errors.New("the store's answer is too long")

type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	return n, err
}

// following is what is told of the requests of a context.
type following struct {
	attempts atomic.Int64
	sent     func(int64)
}

type followKey struct{}

// Follow returns a context whose requests are counted as they are sent. sent is told
// of the bytes of files that go out, as they go; and of as many less, if they have
// to go once more.
func Follow(ctx context.Context, sent func(int64)) (context.Context, *atomic.Int64) {
	f := &following{sent: sent}
	return context.WithValue(ctx, followKey{}, f), &f.attempts
}

func followed(ctx context.Context) *following {
	f, _ := ctx.Value(followKey{}).(*following)
	return f
}
