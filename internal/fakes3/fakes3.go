// Package fakes3 is the S3 server of the tests, but for the objects. It refuses requests
// above a limit, as S3 does, and runs scripts that answer in its place. The Next handler
// keeps the objects; it comes from a module that the root module does not require.
package fakes3

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/aimd-go/aimd/internal/pipenet"
)

// SlowDown is the refusal of S3.
const SlowDown = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>1</RequestId></Error>`

// Script answers a request in the server's place if it returns true.
type Script = func(http.ResponseWriter, *http.Request) bool

// Store is a server on loopback, or in memory. Set the fields, then Start it; Close
// it at the end.
type Store struct {
	*httptest.Server
	// Dial connects to a server in memory: it is for http.Transport.DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Next http.Handler
	// Slots is how many requests it takes at a time (0: any number), and
	// Service how long it takes for each.
	Slots   int
	Service time.Duration
	// Script, if it is not nil, sees the requests that are not refused.
	Script Script

	mu                          sync.Mutex
	requests, refused, inFlight int
}

// Start listens on a free port.
func (s *Store) Start() {
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Server.Start()
}

// StartInMemory listens on pipes, for tests on virtual time.
func (s *Store) StartInMemory() {
	l := pipenet.Listen()
	s.Dial = l.DialContext
	s.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}}
	s.Server.Start()
}

// Counts is how many requests came, and how many were refused.
func (s *Store) Counts() (requests, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.refused
}

// ServeHTTP implements http.Handler.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		Refuse(w, r)
		return
	}
	defer s.leave()
	if s.Script != nil && s.Script(w, r) {
		return
	}
	time.Sleep(s.Service)
	s.Next.ServeHTTP(w, r)
}

func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.Slots > 0 && s.inFlight >= s.Slots {
		s.refused++
		return false
	}
	s.inFlight++
	return true
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// Refuse answers SlowDown. It is no Script itself.
func Refuse(w http.ResponseWriter, r *http.Request) {
	Answer(w, r, http.StatusServiceUnavailable, SlowDown)
}

// Answer answers, and reads the body first: a server that does not may reset the
// connection before the client has seen the answer.
func Answer(w http.ResponseWriter, r *http.Request, status int, body string) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// First scripts the first request that matches, and no other.
func First(match func(*http.Request) bool, do http.HandlerFunc) Script {
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request) (answered bool) {
		if match(r) {
			once.Do(func() {
				do(w, r)
				answered = true
			})
		}
		return answered
	}
}
