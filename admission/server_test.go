package admission_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// protocol is a way to serve.
type protocol struct {
	name  string
	start func(*testing.T, http.Handler) *httptest.Server
}

// protocols are the ways in which the tests with real servers run.
var protocols = []protocol{{"HTTP1", serve}, {"HTTP2", serve2}}

// serve starts a server on the loopback.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// serve2 is serve with HTTP/2.
func serve2(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// broken is a body that cannot be read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
