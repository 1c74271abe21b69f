// Package api is the rate-limited HTTP API of the demo: a token bucket, and 429
// with Retry-After for whom it has no token.
package api

import (
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Config is how an API behaves.
type Config struct {
	// Rate is how many requests per second it serves in the long run, Burst how
	// many it serves at once after a rest.
	Rate  float64
	Burst int
	// Service is how long each request takes.
	Service time.Duration
	// RetryAfter is what refused clients are told, in whole seconds.
	RetryAfter time.Duration
}

// API is an API that runs. Make one with Start.
type API struct {
	config  Config
	server  *http.Server
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

// Start starts an API with a full bucket on a free port of the loopback
// interface. POST /jobs/{id} does a job.
func Start(c Config) (*API, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &API{
		config: c, address: l.Addr().String(), closed: make(chan struct{}),
		tokens: float64(c.Burst), filled: time.Now(), served: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs/{id}", a.job)
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = a.server.Serve(l) }() // always ends with ErrServerClosed
	return a, nil
}

// URL is where the API listens.
func (a *API) URL() string { return "http://" + a.address }

// Close stops the API at once. What is being served is cut off.
func (a *API) Close() {
	a.closing.Do(func() {
		close(a.closed)
		_ = a.server.Close() // its listener is all that could fail to close
	})
}

// Served is how often the job was done: the API's own record.
func (a *API) Served(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served[id]
}

// Refused is how many requests got 429 since the start.
func (a *API) Refused() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

func (a *API) job(w http.ResponseWriter, r *http.Request) {
	if !a.take(time.Now()) {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(a.config.RetryAfter.Seconds()))))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	t := time.NewTimer(a.config.Service)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.closed:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	a.did(r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}

// take takes a token out of the bucket if there is one.
func (a *API) take(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.After(a.filled) {
		a.tokens = min(a.tokens+now.Sub(a.filled).Seconds()*a.config.Rate, float64(a.config.Burst))
		a.filled = now
	}
	if a.tokens < 1 {
		a.refused++
		return false
	}
	a.tokens--
	return true
}

func (a *API) did(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served[id]++
}
