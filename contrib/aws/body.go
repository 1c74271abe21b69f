package aimdaws

import (
	"context"
	"errors"
	"io"
	"sync"
)

// body is the body of an answer. It knows when the answer is over: read to the
// end or closed. The SDK reads and closes most bodies itself before it returns;
// those of streaming outputs the caller does, from any goroutine.
type body struct {
	io.ReadCloser

	mu sync.Mutex
	// over and err are whether and how it ended. Guarded by mu.
	over bool
	err  error
	// release is what to do at the end, once known. Guarded by mu.
	release func(error)
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.end(nil)
	} else if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer. A caller who has seen enough is no failure.
func (b *body) Close() error {
	defer b.end(nil)
	return b.ReadCloser.Close()
}

// end notes the first end, and calls release if it is known by now.
func (b *body) end(err error) {
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return
	}
	b.over, b.err = true, err
	release := b.release
	b.mu.Unlock()
	if release != nil {
		release(err)
	}
}

// then calls release once, when the body ends or the context does: now, if
// the body has ended.
func (b *body) then(ctx context.Context, release func(error)) {
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		release(b.err)
		return
	}
	stop := context.AfterFunc(ctx, func() { b.end(ctx.Err()) })
	b.release = func(err error) {
		stop()
		release(err)
	}
	b.mu.Unlock()
}
