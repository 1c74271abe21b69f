// Package loopback serves on a free port of the loopback interface, for a demo.
package loopback

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a server that runs. Make one with Start.
type Server struct {
	// URL is where it listens.
	URL string

	http    *http.Server
	closing sync.Once
	closed  chan struct{}
}

// Start has handle serve each request, until Close. It may use the server.
func Start(handle func(*Server, http.ResponseWriter, *http.Request)) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + l.Addr().String(), closed: make(chan struct{})}
	serve := func(w http.ResponseWriter, r *http.Request) { handle(s, w, r) }
	s.http = &http.Server{Handler: http.HandlerFunc(serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(l) }() // always ends with ErrServerClosed
	return s, nil
}

// Work lasts for the time, and reports false if the server closes before. Like a real
// service it continues if the client goes away.
func (s *Server) Work(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.closed:
		return false
	}
}

// Close stops the server at once, and cuts off its requests. It may be called again.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.closed)
		_ = s.http.Close() // its listener is all that could fail to close
	})
}
