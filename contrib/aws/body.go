package aimdaws

import (
	"errors"
	"io"
	"sync"

	"github.com/aimd-go/aimd/attempt"
)

// body is the body of an answer. The SDK reads most bodies itself, and the attempt ends after that. The
// body of a streaming output belongs to the caller, who may read and close it from any goroutine.
type body struct {
	mu sync.Mutex
	// Guarded by mu: the body beneath, or the attempt's once held, and whether and how the body ended.
	inner io.ReadCloser
	over  bool
	err   error
}

func (b *body) beneath() io.ReadCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inner
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.beneath().Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer. A caller that has seen enough is no failure.
func (b *body) Close() error {
	defer b.end(nil)
	return b.beneath().Close()
}

// end notes the first end.
func (b *body) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over && !errors.Is(err, io.EOF) {
		b.err = err
	}
	b.over = true
}

// hold leaves it to the body to end the attempt, or ends it if the body has ended.
func (b *body) hold(a attempt.Attempt) {
	a.Answered(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		a.End(b.err)
		return
	}
	b.inner = a.Body(b.inner)
}
