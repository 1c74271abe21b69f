package httplimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/aimd-go/aimd/limiter"
)

// body is an answer's body that holds the attempt's slot. As the bodies of
// net/http it has Read and Close only: a WriteTo of the body beneath would go
// past Read, and the end would not be seen. It buffers nothing.
//
// Read, Close and the end of the context may come at the same time.
type body struct {
	attempt
	inner io.ReadCloser
	// answer is what the head of the answer said.
	answer limiter.Verdict
	// stop forgets the context; nil: it is not watched.
	stop func() bool
	// ended is set by the one who ends the attempt.
	ended atomic.Bool
	// reading: a Read waits for the service.
	reading atomic.Bool
}

// hold returns the answer's body in a form that ends the attempt.
func (a attempt) hold(resp *http.Response, answer limiter.Verdict) io.ReadCloser {
	b := &body{attempt: a, inner: resp.Body, answer: answer}
	if w, ok := resp.Body.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		// The connection is another protocol's now. With net/http it outlives the
		// request's context, so its slot does too. A Write method alone says
		// nothing: the body of any answer may have one.
		b.ctx = context.WithoutCancel(b.ctx)
		return &duplex{body: b, writer: w}
	}
	if a.ctx.Done() != nil {
		// The function must not touch b.stop: it may run before that is set.
		b.stop = context.AfterFunc(a.ctx, func() {
			if b.claim() {
				b.end(b.unread())
			}
		})
	}
	return b
}

// Read reads from the body, and ends the attempt at the body's end or at an error.
func (b *body) Read(p []byte) (int, error) {
	b.reading.Store(true)
	n, err := b.inner.Read(p)
	if err != nil && !b.ended.Load() {
		v := b.broken(err)
		if b.claim() {
			b.forget()
			b.end(v)
		}
	}
	b.reading.Store(false)
	return n, err
}

// Close closes the body, and then ends the attempt.
func (b *body) Close() error {
	if b.claim() {
		b.forget()
		// After the body beneath has let the connection go, and also if it panics.
		defer b.end(b.unread())
	}
	return b.inner.Close()
}

// claim reports true to one caller: that one ends the attempt.
func (b *body) claim() bool { return !b.ended.Swap(true) }

func (b *body) forget() {
	if b.stop != nil {
		b.stop()
	}
}

// broken is what the attempt comes to when Read returned an error.
func (b *body) broken(err error) limiter.Verdict {
	if err == io.EOF || b.answer.Outcome.Overloaded() {
		return b.answer
	}
	return b.failed(err)
}

// unread is what the attempt comes to when the body is closed, or the context
// ends, before its end was read.
func (b *body) unread() limiter.Verdict {
	v, over := b.over()
	switch {
	case !over, b.answer.Outcome.Overloaded():
		return b.answer
	case !b.reading.Load():
		// The reader was slow, not the service.
		return limiter.Verdict{Outcome: limiter.Neutral}
	}
	return v
}

// duplex is a body that is a connection: an io.ReadWriteCloser, with CloseWrite
// as net/http has it.
type duplex struct {
	*body
	writer io.Writer
}

func (d *duplex) Write(p []byte) (int, error) { return d.writer.Write(p) }

func (d *duplex) CloseWrite() error {
	if c, ok := d.writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("httplimit: CloseWrite: %w", errors.ErrUnsupported)
}
