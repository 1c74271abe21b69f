package httplimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/aimd-go/aimd/attempt"
)

// body is an answer's body that holds the attempt's slot. As the bodies of
// net/http it has Read and Close only: a WriteTo of the body beneath would go
// past Read, and the end would not be seen. It buffers nothing.
//
// Read, Close and the end of the context may come at the same time.
type body struct {
	attempt *attempt.Attempt
	inner   io.ReadCloser
	// ctx is the request's.
	ctx context.Context
	// upgraded: the connection is another protocol's now.
	upgraded bool
	// stop forgets the context; nil: it is not watched.
	stop func() bool
	// ended: the attempt has ended, or is about to.
	ended atomic.Bool
	// reading: a Read waits for the service.
	reading atomic.Bool
}

// hold returns the answer's body in a form that ends the attempt.
func hold(ctx context.Context, a *attempt.Attempt, resp *http.Response) io.ReadCloser {
	b := &body{attempt: a, inner: resp.Body, ctx: ctx}
	if w, ok := resp.Body.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		// With net/http the connection outlives the request's context, so its slot
		// does too.
		b.ctx, b.upgraded = context.WithoutCancel(ctx), true
		return &duplex{body: b, writer: w}
	}
	if ctx.Done() != nil {
		// The function must not touch b.stop: it may run before that is set.
		b.stop = context.AfterFunc(ctx, func() {
			if b.claim() {
				b.unread(ctx.Err(), b.reading.Load())
			}
		})
	}
	return b
}

// Read reads from the body, and ends the attempt at the body's end or at an error.
func (b *body) Read(p []byte) (int, error) {
	b.reading.Store(true)
	n, err := b.inner.Read(p)
	first := err != nil && b.claim()
	b.reading.Store(false)
	if !first {
		return n, err
	}
	b.forget()
	switch {
	case err == io.EOF:
		b.attempt.End(nil)
	case b.upgraded:
		b.attempt.Drop() // what ends another protocol says nothing
	default:
		b.attempt.End(err)
	}
	return n, err
}

// Close closes the body, and then ends the attempt.
func (b *body) Close() error {
	if b.claim() {
		b.forget()
		// After the body beneath has let the connection go, and also if it panics.
		defer b.unread(b.ctx.Err(), b.reading.Load())
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

// unread ends the attempt of a body that was closed, or whose context ended, before
// its end was read; over is the context's error.
func (b *body) unread(over error, reading bool) {
	switch {
	case over == nil:
		b.attempt.End(nil)
	case reading:
		b.attempt.End(over)
	default:
		b.attempt.Drop() // the reader was slow, not the service
	}
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
