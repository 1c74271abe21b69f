package demo

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// server is an embedded service on the loopback interface. It refuses a request, or takes
// its time for the request and then answers it. Like a real service it continues if the
// client goes away, until the server is closed. Make one with serve.
type server struct {
	*httptest.Server
	behavior
	closed chan struct{}

	mu sync.Mutex
	// The server's own account. Guarded by mu.
	serving, peak, served, refused int
}

// behavior is how a server treats requests.
type behavior struct {
	// admits reports whether a request is served, if the server works on that number already.
	admits func(serving int) bool
	// takes returns the service time of a request.
	takes func() time.Duration
	// answer answers the requests that are served, refuse the others.
	answer http.Handler
	refuse http.HandlerFunc
}

func serve(b behavior) *server {
	s := &server{behavior: b, closed: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		s.refuse(w, r)
		return
	}
	defer s.leave()
	select {
	case <-time.After(s.takes()):
		s.answer.ServeHTTP(w, r)
	case <-s.closed:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.admits(s.serving) {
		s.refused++
		return false
	}
	s.served++
	s.serving++
	s.peak = max(s.peak, s.serving)
	return true
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving--
}

// peaked returns the most requests that were served at a time.
func (s *server) peaked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// close stops the server at once.
func (s *server) close() {
	close(s.closed)
	s.CloseClientConnections()
	s.Close()
}
