package aimdaws

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/aimd-go/aimd/attempt"
)

// body is the body of an answer. It knows when the answer is over: read to the
// end or closed. The SDK reads and closes most bodies itself before it returns;
// those of streaming outputs the caller does, from any goroutine.
type body struct {
	io.ReadCloser
	// reading: a Read waits for the service.
	reading atomic.Bool

	mu sync.Mutex
	// over and err are whether and how it ended. Guarded by mu.
	over bool
	err  error
	// finish is what to do at the end, nil as long as the body holds no attempt.
	// Guarded by mu.
	finish func(error)
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.reading.Store(true)
	n, err := b.ReadCloser.Read(p)
	b.reading.Store(false)
	if errors.Is(err, io.EOF) {
		b.end(nil)
	} else if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer. A caller that has seen enough is no failure.
func (b *body) Close() error {
	defer b.end(nil)
	return b.ReadCloser.Close()
}

// end notes the first end.
func (b *body) end(err error) {
	b.mu.Lock()
	first := !b.over
	if first {
		b.over, b.err = true, err
	}
	finish := b.finish
	b.mu.Unlock()
	if first && finish != nil {
		finish(err)
	}
}

// hold leaves it to the body to end the attempt: when it ends or the context
// does; now, if it has ended.
func (b *body) hold(ctx context.Context, a *attempt.Attempt) {
	a.Answered(nil)
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		a.End(b.err)
		return
	}
	stop := context.AfterFunc(ctx, func() { b.abandoned(ctx, a) })
	b.finish = func(err error) {
		if stop(); err == nil && ctx.Err() != nil {
			b.abandoned(ctx, a)
			return
		}
		a.End(err)
	}
	b.mu.Unlock()
}

// abandoned ends the attempt of a body whose context ended before it did.
func (b *body) abandoned(ctx context.Context, a *attempt.Attempt) {
	if b.reading.Load() {
		a.End(ctx.Err())
	} else {
		a.Drop() // the reader was slow, not the service
	}
}
