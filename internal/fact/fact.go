// Package fact reads the error of an attempt once, for classifiers, the first contact, and guards.
package fact

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"syscall"

	"github.com/aimd-go/aimd/internal/answer"
)

// Facts are what an error says of how far its attempt came. The zero value: the service answered.
type Facts struct {
	// Unsent: the request was not sent.
	Unsent bool
	// Unanswered: the service gave no answer.
	Unanswered bool
	// Unreached: the dial, the name's resolution or the TLS handshake failed.
	Unreached bool
	// Undialed: there was no connection, so the request was not sent.
	Undialed bool
	// Forgotten: the service's name was not found.
	Forgotten bool
	// OfContext: the error is a context's.
	OfContext bool
}

// Of returns the facts of the error, which may be nil.
func Of(err error) Facts {
	if err == nil {
		return Facts{}
	}
	var name *net.DNSError
	named := errors.As(err, &name)
	f := Facts{
		Unsent:    says(err, func(e interface{ NotSent() bool }) bool { return e.NotSent() }),
		Undialed:  named || undialed(err),
		Forgotten: named && name.IsNotFound,
		OfContext: errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded),
	}
	f.Unreached = f.Undialed || unreached(err)
	f.Unanswered = unanswered(err, f)
	return f
}

func says[T any](err error, ask func(T) bool) bool {
	var asked T
	return errors.As(err, &asked) && ask(asked)
}

func unanswered(err error, f Facts) bool {
	var own interface{ Answer() (answer.Answer, bool) }
	if errors.As(err, &own) || says(err, func(e interface{ HTTPStatusCode() int }) bool { return e.HTTPStatusCode() >= 400 }) {
		return false
	}
	var network net.Error
	return f.Unsent || f.Unreached || says(err, func(e interface{ Unanswered() bool }) bool { return e.Unanswered() }) ||
		errors.Is(err, context.Canceled) || CutOff(err) || errors.As(err, &network)
}

func unreached(err error) bool {
	return OfTLS(err) || NoRoute(err) ||
		errors.Is(err, syscall.ECONNREFUSED) || says(err, func(e interface{ Unreached() bool }) bool { return e.Unreached() })
}

func undialed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") || handshake.MatchString(words(err))
}

// handshake is how net/http words a TLS handshake that took longer than Transport.TLSHandshakeTimeout. The
// handshake comes before the first byte of the request.
var handshake = regexp.MustCompile("net/http: TLS handshake timeout")

// OfTLS reports a TLS that does not fit: another attempt fails in the same way.
func OfTLS(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
	)
	return errors.As(err, &certificate) || errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch)
}

// CutOff reports whether the connection failed, and not the service.
func CutOff(err error) bool {
	// net/http reports a connection that was closed before the answer as a bare EOF in a url.Error, or as
	// an error without a type.
	return is(err, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		io.ErrUnexpectedEOF, net.ErrClosed, io.EOF) || closed.MatchString(words(err))
}

// closed is how net/http words a connection that the server closed, or that was lost.
var closed = regexp.MustCompile("http: server closed idle connection|http2: (server sent GOAWAY|client connection lost|Transport received (GOAWAY|Server's graceful shutdown))")

// Calmed reports whether the server closed the connection to have fewer requests.
func Calmed(err error) bool { return calm.MatchString(words(err)) }

// calm is how net/http words a GOAWAY with ENHANCE_YOUR_CALM, on the first stream of a connection and on later ones.
var calm = regexp.MustCompile("http2: (Transport received|server sent) GOAWAY .*ENHANCE_YOUR_CALM")

// NoRoute reports whether there was no route to the service.
func NoRoute(err error) bool {
	return is(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL)
}

// Refuses reports whether the error is worded as a refusal for load. 529 is Anthropic's status, 1015 a code of
// Cloudflare.
func Refuses(err error) bool { return refusal.MatchString(words(err)) }

var refusal = regexp.MustCompile(`(?i)\b(429|503|529|1015)\b|rate.?limit|throttl|too many (requests|connections)|overloaded`)

// words is the text of the error, "" if Error panics: an SDK's may, for an error that is a nil pointer.
func words(err error) (text string) {
	defer func() { _ = recover() }()
	return err.Error()
}

func is(err error, any ...error) bool {
	for _, e := range any {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// NumberKey is the key of the attempt's number in its context, an int. See attempt.Number.
type NumberKey struct{}
