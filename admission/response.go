package admission

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/window"
)

// sniffed is the part of an answer that net/http looks at to find its Content-Type.
const sniffed = 512

// service is one request in service, and the http.ResponseWriter of its handler.
type service struct {
	http.ResponseWriter
	place Place
	// outcome is the end of the service, set when the handler returned.
	outcome window.Outcome
	// status is the answer's status, 0 before it began. head is the time until it began.
	status int
	head   time.Duration
	// hijacked: the connection is the handler's, and the place given back.
	hijacked bool
}

func (s *service) end() {
	if !s.hijacked {
		// The application may have released it early.
		s.place.Done(s.outcome)
	}
}

func (s *service) begin(status int) {
	if s.status == 0 {
		s.status, s.head = status, s.place.Held()
	}
}

// writer returns s with Flush and Hijack if the writer beneath has them: callers assert the type.
func (s *service) writer() http.ResponseWriter {
	_, flushes := reach[http.Flusher](s.ResponseWriter)
	if !flushes {
		_, flushes = reach[interface{ FlushError() error }](s.ResponseWriter)
	}
	_, hijacks := reach[http.Hijacker](s.ResponseWriter)
	switch {
	case flushes && hijacks:
		return struct {
			*service
			flusher
			hijacker
		}{s, flusher{s}, hijacker{s}}
	case flushes:
		return struct {
			*service
			flusher
		}{s, flusher{s}}
	case hijacks:
		return struct {
			*service
			hijacker
		}{s, hijacker{s}}
	}
	return s
}

// reach finds a T the way http.ResponseController does: the writer, or one within.
func reach[T any](w http.ResponseWriter) (T, bool) {
	for {
		switch inner := w.(type) {
		case T:
			return inner, true
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			var none T
			return none, false
		}
	}
}

// Unwrap is for http.ResponseController.
func (s *service) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader notes the status, unless it is an informational one.
func (s *service) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		s.begin(status)
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *service) Write(p []byte) (int, error) {
	s.begin(http.StatusOK)
	return s.ResponseWriter.Write(p)
}

func (s *service) WriteString(text string) (int, error) {
	s.begin(http.StatusOK)
	return io.WriteString(s.ResponseWriter, text)
}

// ReadFrom is io.ReaderFrom, by which net/http sends a file with sendfile. It asks the writer right
// beneath only: one further down would bypass those between. The start goes through Write, as in net/http
// itself: the answer begins with its first byte, and not with the wait for that.
func (s *service) ReadFrom(src io.Reader) (n int64, err error) {
	writes := struct{ io.Writer }{s}
	to, ok := s.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(writes, src)
	}
	if s.status == 0 {
		if n, err = io.CopyN(writes, src, sniffed); err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
	}
	rest, err := to.ReadFrom(src)
	return n + rest, err
}

// Push is http.Pusher, which may always answer that it is not supported.
func (s *service) Push(target string, opts *http.PushOptions) error {
	if to, ok := reach[http.Pusher](s.ResponseWriter); ok {
		return to.Push(target, opts)
	}
	return http.ErrNotSupported
}

type flusher struct{ to *service }

func (f flusher) Flush() { _ = f.FlushError() }

// FlushError is for http.ResponseController.
func (f flusher) FlushError() error {
	f.to.begin(http.StatusOK)
	return http.NewResponseController(f.to.ResponseWriter).Flush()
}

type hijacker struct{ from *service }

// Hijack takes the connection over, and gives the request's place back.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	s := h.from
	conn, rw, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err == nil && !s.hijacked {
		s.hijacked = true
		s.place.Done(window.Success)
	}
	return conn, rw, err
}
