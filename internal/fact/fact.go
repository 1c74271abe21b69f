// Package fact walks the error of an attempt once, for classifiers, the first contact, and guards.
package fact

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Soon is the longest wait that tells a refusal for now from a quota that is spent: the default of MaxRetryAfter.
const Soon = 5 * time.Minute

// Facts are the errors of an error's tree, each before those that it wraps, and what they say of how far the attempt
// came. Facts are an error too, the one that was walked, so that a classifier does not walk it again: an error of a
// service in trouble is read for each attempt. One goroutine at a time has them.
type Facts struct {
	error
	nodes []Node
	room  [4]Node // for the nodes of most errors
	text  string
	// worded: text is set.
	worded bool
}

// Node is an error of the tree, and what there is to read of its type.
type Node struct {
	Err  error
	Kind *Kind
}

// LargestTree is the number of errors of a tree that are looked at. Our choice: an SDK wraps a few times.
const LargestTree = 64

var none Facts

// Of walks the error, which may be nil or Facts. Nil pointers are left out: their methods may panic.
func Of(err error) *Facts {
	if f, walked := err.(*Facts); walked {
		return f
	}
	if err == nil {
		return &none
	}
	f := &Facts{error: err}
	f.nodes = f.room[:0]
	f.walk(err)
	return f
}

func (f *Facts) walk(err error) {
	if err == nil || len(f.nodes) == LargestTree {
		return
	}
	kind := KindOf(reflect.TypeOf(err))
	if kind.pointer && reflect.ValueOf(err).IsNil() {
		return
	}
	f.nodes = append(f.nodes, Node{err, kind})
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		f.walk(u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			f.walk(e)
		}
	}
}

// Nodes are the errors of the tree.
func (f *Facts) Nodes() []Node { return f.nodes }

// Unwrap returns the error that was walked.
func (f *Facts) Unwrap() error { return f.error }

// First is errors.As on a tree that was walked.
func First[T any](f *Facts) (T, bool) {
	for _, n := range f.nodes {
		if n.Kind.silent {
			continue
		}
		if t, ok := n.Err.(T); ok {
			return t, true
		}
		if !n.Kind.as {
			continue
		}
		if t := new(T); n.Err.(interface{ As(any) bool }).As(t) {
			return *t, true
		}
	}
	var zero T
	return zero, false
}

// IsAny is errors.Is on a tree that was walked, for several targets, which can be compared.
func (f *Facts) IsAny(targets ...error) bool {
	for _, n := range f.nodes {
		for _, target := range targets {
			if n.Err == target || n.Kind.is && n.Err.(interface{ Is(error) bool }).Is(target) {
				return true
			}
		}
	}
	return false
}

// Words is the text of the error that was walked.
func (f *Facts) Words() string {
	if f.error != nil && !f.worded {
		f.text, f.worded = Words(f.error), true
	}
	return f.text
}

// Words is the text of an error, "" if Error panics: an SDK's may.
func Words(err error) (text string) {
	defer func() { _ = recover() }()
	return err.Error()
}

func (f *Facts) says(any ...string) bool {
	for _, s := range any {
		if strings.Contains(f.Words(), s) {
			return true
		}
	}
	return false
}

// Unsent: the request was not sent.
func (f *Facts) Unsent() bool {
	e, ok := First[interface{ NotSent() bool }](f)
	return ok && e.NotSent()
}

// OfContext: the error is a context's.
func (f *Facts) OfContext() bool { return f.IsAny(context.Canceled, context.DeadlineExceeded) }

// answered: the service gave an answer.
func (f *Facts) answered() bool {
	if _, ok := First[interface{ Answer() answer.Answer }](f); ok {
		return true
	}
	e, ok := First[interface{ HTTPStatusCode() int }](f)
	return ok && e.HTTPStatusCode() >= 400
}

// Unanswered: the service gave no answer.
func (f *Facts) Unanswered() bool {
	if f.answered() {
		return false
	}
	if e, ok := First[interface{ Unanswered() bool }](f); ok && e.Unanswered() {
		return true
	}
	_, network := First[net.Error](f)
	return network || f.Unsent() || f.Unreached() || f.IsAny(context.Canceled) || f.CutOff()
}

// Unreached: the dial, the name's resolution or the TLS handshake failed.
func (f *Facts) Unreached() bool {
	if e, ok := First[interface{ Unreached() bool }](f); ok && e.Unreached() {
		return true
	}
	return f.Undialed() || f.OfTLS() || f.NoRoute() || f.IsAny(syscall.ECONNREFUSED)
}

// Undialed: there was no connection, so the request was not sent. The TLS handshake comes before the first byte of
// the request; the text is net/http's for Transport.TLSHandshakeTimeout.
func (f *Facts) Undialed() bool {
	if _, ok := First[*net.DNSError](f); ok {
		return true
	}
	if op, ok := First[*net.OpError](f); ok {
		return op.Op == "dial" || op.Op == "proxyconnect"
	}
	return !f.answered() && f.says("net/http: TLS handshake timeout")
}

// Undone: the service did none of the work, since the request was not sent, or an HTTP/2 server said that it did not
// look at it (RFC 9113, sections 6.8 and 8.7): a GOAWAY on the connection's first stream, or a stream refused.
func (f *Facts) Undone() bool {
	return f.Unsent() || f.Undialed() || f.Stream() == RefusedStream || !f.answered() && f.says("http2: Transport received GOAWAY")
}

// RefusedStream is the code of a stream that the server did not look at.
const RefusedStream = 0x7

// stream is net/http's error of a stream that was reset. Its As fills any struct with its fields.
type stream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (stream) Error() string { return "stream error" }

// Stream is the code with which a stream of HTTP/2 was reset, 0 without one:
// https://www.rfc-editor.org/rfc/rfc9113#name-error-codes
func (f *Facts) Stream() uint32 {
	s, _ := First[stream](f)
	return s.Code
}

// Forgotten: the service's name was not found.
func (f *Facts) Forgotten() bool {
	name, ok := First[*net.DNSError](f)
	return ok && name.IsNotFound
}

// OfTLS reports a TLS that does not fit: another attempt fails in the same way.
func (f *Facts) OfTLS() bool {
	_, certificate := First[*tls.CertificateVerificationError](f)
	_, plain := First[tls.RecordHeaderError](f)
	return certificate || plain || f.IsAny(http.ErrSchemeMismatch)
}

// CutOff reports whether the connection failed, and not the service.
func (f *Facts) CutOff() bool { return f.broken() || f.closed() }

// broken: net/http reports a connection that was closed before the answer also as a bare EOF in a url.Error.
func (f *Facts) broken() bool {
	return f.IsAny(syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		io.ErrUnexpectedEOF, net.ErrClosed, io.EOF)
}

// closed is how net/http words a connection that the server closed, or that was lost.
func (f *Facts) closed() bool {
	return f.says("http: server closed idle connection", "http2: server sent GOAWAY", "http2: client connection lost",
		"http2: Transport received GOAWAY", "http2: Transport received Server's graceful shutdown")
}

// Calmed reports whether the server closed the connection to have fewer requests, on the connection's first stream or
// on a later one.
func (f *Facts) Calmed() bool {
	return !f.broken() && f.closed() && f.says("GOAWAY") && f.says("ENHANCE_YOUR_CALM")
}

// NoRoute reports whether there was no route to the service.
func (f *Facts) NoRoute() bool {
	return f.IsAny(syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL)
}

// NumberKey is the key of the attempt's number in its context, an int. See attempt.Number.
type NumberKey struct{}
