package attempt

import (
	"context"
	"io"
)

// attemptBody is an Attempt as the body of its answer. As the bodies of net/http it has Read and Close only: a
// WriteTo of the body beneath would bypass Read. Read, Close and the end of the context may come together.
type attemptBody Attempt

// Body returns an answer's body that ends the attempt: when it is closed or read to its end, when reading fails, or
// when the caller's context ends. Call Head first. sized: the answer's length is known, so that it comes to an end by itself.
//
// While other operations wait, an answer that stays open may leave the limiter's window: one that is no work for the
// service any more, or that nobody closes. One whose length is known must not have brought a byte for some time.
//
// A body that is an io.Writer too is a connection of another protocol (101 Switching Protocols). With net/http the
// connection outlives the context, and so does its slot. An error is its end.
func (a *Attempt) Body(inner io.ReadCloser, sized bool) io.ReadCloser {
	a.inner = inner
	if a.ctx.Done() != nil && !a.upgraded() {
		// The function must not touch a.forget: it may run before that is set.
		a.forget = context.AfterFunc(a.ctx, func() {
			if reading := a.beingRead(); a.claim() {
				a.interrupted(a.ctx.Err(), reading)
			}
		})
	}
	if a.owns && sized {
		return (*sizedBody)(a)
	}
	return (*attemptBody)(a)
}

// sizedBody is a body whose length is known.
type sizedBody Attempt

func (d *sizedBody) Read(p []byte) (int, error) {
	n, err := (*attemptBody)(d).Read(p)
	if n > 0 {
		d.runner.Slots.Lived()
	}
	return n, err
}

func (d *sizedBody) Close() error { return (*attemptBody)(d).Close() }

func (a *Attempt) upgraded() bool {
	_, ok := a.inner.(io.Writer)
	return ok
}

func (b *attemptBody) Read(p []byte) (int, error) {
	a := (*Attempt)(b)
	a.reading.Inc()
	n, err := a.inner.Read(p)
	first := err != nil && a.claim()
	a.reading.Dec()
	switch {
	case !first:
		return n, err
	case a.forget != nil:
		defer a.forget() // the slot goes first: a context may panic
	}
	switch {
	case err == io.EOF:
		a.end(nil)
	case a.upgraded():
		a.drop()
	default:
		a.end(err)
	}
	return n, err
}

func (b *attemptBody) Close() error {
	a := (*Attempt)(b)
	if reading := a.beingRead(); a.claim() {
		var over error
		// After the body beneath has returned its connection, and also if it or the context panics.
		defer func() { a.interrupted(over, reading) }()
		if a.forget != nil {
			defer a.forget()
		}
		if !a.upgraded() {
			over = a.ctx.Err()
		}
	}
	return a.inner.Close()
}

// beingRead reports whether a Read waits for the service. Ask before the claim: a Read that the same end of the
// context breaks off loses the claim, and returns.
func (a *Attempt) beingRead() bool { return a.reading.Load() > 0 }

// interrupted ends a claimed attempt whose answer was not read to its end; over is the context's error.
func (a *Attempt) interrupted(over error, reading bool) {
	if over != nil && !reading {
		a.drop() // the reader was slow, or has had enough: the service has answered
	} else {
		a.end(over)
	}
}
