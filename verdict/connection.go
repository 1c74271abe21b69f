package verdict

import (
	"context"
	"io"
	"net"
	"slices"
	"syscall"
)

func (f *tree) unsent() bool { return f.facts().says(Unsent) && !f.facts().several }

func (f *tree) answered() bool {
	if f.facts().says(Answered) {
		return true
	}
	e, ok := first[interface{ HTTPStatusCode() int }](f)
	return ok && e.HTTPStatusCode() >= 400
}

func (f *tree) unanswered() bool {
	if f.answered() {
		return false
	}
	_, network := first[net.Error](f)
	return f.facts().says(Unanswered) || network || f.unsent() || f.unreached() || f.isAny(context.Canceled) || f.cutOff()
}

// unreached: the dial, the name's resolution or the TLS handshake failed.
func (f *tree) unreached() bool {
	return f.facts().says(Unreached) || f.undialed() || f.ofTLS() || f.noRoute() || f.isAny(syscall.ECONNREFUSED)
}

// undialed: there was no connection, so the request was not sent. The TLS handshake comes before the first byte of
// the request; the text is net/http's for Transport.TLSHandshakeTimeout.
func (f *tree) undialed() bool {
	if _, ok := first[*net.DNSError](f); ok {
		return true
	}
	if op, ok := first[*net.OpError](f); ok {
		return op.Op == "dial" || op.Op == "proxyconnect"
	}
	return !f.answered() && f.says("net/http: TLS handshake timeout")
}

// undone: the service did not begin the work. The request was not sent, or an HTTP/2 server said that it did not look
// at it (RFC 9113, sections 6.8 and 8.7): a GOAWAY with a lower stream, or a refused stream. Or net/http found the
// connection closed before it wrote.
func (f *tree) undone() bool {
	return !f.facts().several && (f.unsent() || f.undialed() || f.refused() || !f.answered() &&
		f.says("http2: Transport received", "http2: client conn could not be", "http2: client conn not usable", cannotRewind))
}

// refused reports a stream that the server did not look at. If the body has no GetBody, net/http only says so.
func (f *tree) refused() bool {
	return f.reset() == 0x7 || !f.broken() && f.says("http2: Transport: cannot retry") && f.says("REFUSED_STREAM")
}

// stream is net/http's error of a stream that was reset. Its As fills any struct with its fields.
type stream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (stream) Error() string { return "stream error" }

// reset is the code with which a stream of HTTP/2 was reset, 0 without one:
// https://www.rfc-editor.org/rfc/rfc9113#name-error-codes
func (f *tree) reset() uint32 {
	s, _ := first[stream](f)
	return s.Code
}

// schemeMismatch is the text of http.ErrSchemeMismatch.
const schemeMismatch = "http: server gave HTTP response to HTTPS client"

// ofTLS reports a TLS that does not fit: another attempt fails in the same way.
func (f *tree) ofTLS() bool {
	return slices.ContainsFunc(f.nodes, func(n node) bool {
		switch n.kind.name {
		case "crypto/tls.CertificateVerificationError", "crypto/tls.RecordHeaderError":
			return true
		case "errors.errorString":
			return n.err.Error() == schemeMismatch
		}
		return false
	})
}

// cutOff reports whether the connection failed, and not the service. A stream of HTTP/2 stands for a connection: a
// server that hangs up says INTERNAL_ERROR or CANCEL.
func (f *tree) cutOff() bool { return f.broken() || f.closed() || f.reset() == 0x2 || f.reset() == 0x8 }

// broken: net/http reports a connection that was closed before the answer also as a bare EOF in a url.Error.
func (f *tree) broken() bool {
	return f.isAny(syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		io.ErrUnexpectedEOF, net.ErrClosed, io.EOF)
}

// cannotRewind is net/http's error if the connection was gone before the request, and has closed a body without GetBody.
const cannotRewind = "net/http: cannot rewind body"

// closed are net/http's words for a connection that the server closed, or that was lost.
func (f *tree) closed() bool {
	return f.says("http") && f.says("http: server closed idle connection", "http2: server sent GOAWAY", "http2: client conn",
		"http2: Transport received", cannotRewind)
}

// calmed reports whether the server closed the connection to have fewer requests, on the connection's first stream or
// on a later one.
func (f *tree) calmed() bool {
	return !f.broken() && f.closed() && f.says("GOAWAY") && f.says("ENHANCE_YOUR_CALM")
}

func (f *tree) noRoute() bool {
	return f.isAny(syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL)
}

// NotSent reports whether the service did not begin the work, so that any work may be sent again. The error says that
// no request was sent, that there was no connection, or that an HTTP/2 server did not look at it. After several
// attempts (Facts.Several) that is not certain. err may be nil.
func NotSent(err error) bool {
	return walk(err).undone()
}

// CutOff reports whether the connection failed, and not the service: the connection was refused, reset or closed, or
// a stream of HTTP/2 broke off, by the errors of net, net/http and the system. err may be nil.
func CutOff(err error) bool { return walk(err).cutOff() }
