// Package s3test has an S3 server for tests and demonstrations. It refuses the requests above a limit, as S3 does,
// and runs scripts that answer instead. The handler Next keeps the objects, for instance gofakes3: this package
// requires no other module.
package s3test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// SlowDown is the refusal of S3.
const SlowDown = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>1</RequestId></Error>`

// Store is a server on loopback, or in memory. Set the fields, then Start it; Close or Stop it at the end. Like a
// real service it continues with a request if the client goes away. The zero Store refuses nothing; Next is
// required. After the start it is safe for any number of goroutines.
type Store struct {
	*httptest.Server
	// InMemory makes the server listen on pipes, for tests on virtual time. Dial, which Start sets, connects to it: it
	// is for http.Transport.DialContext.
	InMemory bool
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	// Next serves the requests that are neither refused nor scripted.
	Next http.Handler
	// Slots is the number of requests that are served at a time; 0: any number. Service is the time of each
	// request.
	Slots   int
	Service time.Duration
	// Admit, if it is not nil, reports whether a request that found a slot is served. It is called by one goroutine
	// at a time. Jitter, if it is not nil, returns a time to add to each Service.
	Admit  func() bool
	Jitter func() time.Duration
	// Refusal answers the other requests; nil: Refuse.
	Refusal http.HandlerFunc
	// Script, if it is not nil, sees the requests that are not refused. If it returns true, it has answered instead
	// of Next.
	Script func(http.ResponseWriter, *http.Request) bool

	stopped                           chan struct{}
	mu                                sync.Mutex
	requests, refused, inFlight, peak int
}

// Start listens on a free port, or in memory.
func (s *Store) Start() {
	s.stopped = make(chan struct{})
	if s.Refusal == nil {
		s.Refusal = Refuse
	}
	s.Server = &httptest.Server{Config: &http.Server{Handler: http.HandlerFunc(s.serve)}}
	if l := Listen(); s.InMemory {
		s.Dial, s.Listener = l.DialContext, l
	} else {
		s.Server = httptest.NewUnstartedServer(s.Config.Handler)
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Server.Start()
}

// Stop closes the server at once, without the requests that it works on.
func (s *Store) Stop() {
	close(s.stopped)
	s.CloseClientConnections()
	s.Close()
}

// Counts returns the number of requests that came, and of those that were refused.
func (s *Store) Counts() (requests, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.refused
}

// Peak returns the largest number of requests that were served at a time.
func (s *Store) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

func (s *Store) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		s.Refusal(w, r)
		return
	}
	defer s.leave()
	if s.Script != nil && s.Script(w, r) {
		return
	}
	service := s.Service
	if s.Jitter != nil {
		service += s.Jitter()
	}
	select {
	case <-time.After(service):
		s.Next.ServeHTTP(w, r)
	case <-s.stopped:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.Slots > 0 && s.inFlight >= s.Slots || s.Admit != nil && !s.Admit() {
		s.refused++
		return false
	}
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	return true
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// Refuse answers SlowDown with the status 503.
func Refuse(w http.ResponseWriter, r *http.Request) {
	Answer(w, r, http.StatusServiceUnavailable, SlowDown)
}

// Answer answers after the body, or the client may see a reset connection in place of the answer.
func Answer(w http.ResponseWriter, r *http.Request, status int, body string) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
