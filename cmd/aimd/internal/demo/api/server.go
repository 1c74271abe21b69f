package api

import (
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limits are how an API behaves.
type Limits struct {
	// Rate is how many requests per second it serves in the long run, Burst how
	// many it serves at once after a rest.
	Rate  float64
	Burst int
	// Service is how long each request takes.
	Service time.Duration
	// RetryAfter is what refused clients are told, in whole seconds.
	RetryAfter time.Duration
}

// server is an API that runs: a token bucket, and 429 with Retry-After for requests that
// it has no token for. Make one with start.
type server struct {
	limits  Limits
	http    *http.Server
	address string

	closing sync.Once
	closed  chan struct{}

	mu sync.Mutex
	// tokens were there at the time of filled. Invariant: 0 <= tokens <= Burst.
	tokens float64
	filled time.Time
	// served counts how often each job was done.
	served  map[string]int
	refused int
}

// start starts an API with a full bucket on a free port of the loopback
// interface. POST /jobs/{id} does a job.
func start(l Limits) (*server, error) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{
		limits: l, address: port.Addr().String(), closed: make(chan struct{}),
		tokens: float64(l.Burst), filled: time.Now(), served: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs/{id}", s.job)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(port) }() // always ends with ErrServerClosed
	return s, nil
}

// url is where the API listens.
func (s *server) url() string { return "http://" + s.address }

// close stops the API at once. What is being served is cut off.
func (s *server) close() {
	s.closing.Do(func() {
		close(s.closed)
		_ = s.http.Close() // its listener is all that could fail to close
	})
}

// servedTimes is how often the job was done: the API's own record.
func (s *server) servedTimes(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[id]
}

// refusals is how many requests got 429 since the start.
func (s *server) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

func (s *server) job(w http.ResponseWriter, r *http.Request) {
	if !s.take(time.Now()) {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(s.limits.RetryAfter.Seconds()))))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	t := time.NewTimer(s.limits.Service)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.closed:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.did(r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}

// take takes a token out of the bucket if there is one.
func (s *server) take(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.filled) {
		s.tokens = min(s.tokens+now.Sub(s.filled).Seconds()*s.limits.Rate, float64(s.limits.Burst))
		s.filled = now
	}
	if s.tokens < 1 {
		s.refused++
		return false
	}
	s.tokens--
	return true
}

func (s *server) did(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[id]++
}
