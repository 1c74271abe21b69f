// Package server is the service of "Exponential Backoff or how not to crash a
// server": it answers as a database behind it would, the slower the more requests it has at a time, and notices nothing of
// clients that gave up.
package server

import (
	"math"
	"net/http"
	"sync"
	"time"
)

// LongestDelay is the most that the service time grows to. Our choice; without
// a bound it overflows from some 7800 requests on, and a request whose service
// time is negative is answered at once.
const LongestDelay = 24 * time.Hour

// Config is how the service behaves. All of it must be positive.
type Config struct {
	// Limit is how many requests at a time are served without slowdown.
	Limit int
	// BaseDelay is the service time up to there.
	BaseDelay time.Duration
	// Factor, from 1 on, and K are how it grows from there; see Delay.
	Factor, K float64
	// Recheck is how often a request looks at what its service time is by now.
	Recheck time.Duration
}

// Delay is the service time with so many requests at a time. The text:
//
//	"The server is responsible for minDelay (100 ms) until the number of simultaneous
//	connections exceeds concurrencyLimit (30), after which the response time
//	increases exponentially: minDelay * factor ^ ((concurrency - concurrencyLimit) / K)"
func (c Config) Delay(concurrency int) time.Duration {
	if concurrency <= c.Limit {
		return c.BaseDelay
	}
	d := float64(c.BaseDelay) * math.Pow(c.Factor, float64(concurrency-c.Limit)/c.K)
	if d < float64(LongestDelay) { // false for infinity
		return time.Duration(d)
	}
	return LongestDelay
}

// Service is an http.Handler. Make one with New.
type Service struct {
	config Config
	closed chan struct{}

	mu sync.Mutex
	// Guarded by mu.
	counts Counts
}

// New returns a service that nobody asks yet.
func New(c Config) *Service { return &Service{config: c, closed: make(chan struct{})} }

// Close ends the requests that are being served. Call it once.
func (s *Service) Close() { close(s.closed) }

// ServeHTTP answers OK once the request was here for the service time. That is
// computed anew with every look, from how many requests are here then; the
// text's "current number of simultaneous connections". A request whose client
// gave up stays and is counted as any other.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.count(func(c *Counts) {
		c.Concurrency++
		c.Peak = max(c.Peak, c.Concurrency)
	})
	defer s.count(func(c *Counts) { c.Concurrency-- })
	if !s.serve() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	s.count(func(c *Counts) {
		c.Served++
		if r.Context().Err() != nil {
			c.Abandoned++
		}
	})
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte("OK")) // there may be nobody to hear it
}

// serve lasts for the service time, and reports false when the service is closed
// before.
func (s *Service) serve() bool {
	began := time.Now()
	look := time.NewTicker(s.config.Recheck)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-s.closed:
			return false
		}
		var delay time.Duration
		s.count(func(c *Counts) {
			delay = s.config.Delay(c.Concurrency)
			c.LastDelay = delay
		})
		if time.Since(began) >= delay {
			return true
		}
	}
}

func (s *Service) count(change func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counts)
}

// Counts are how the service stands.
type Counts struct {
	// Concurrency is how many requests are being served, Peak the most so far.
	Concurrency int `json:"concurrency"`
	Peak        int `json:"peak"`
	// LastDelay is the service time that was computed last.
	LastDelay time.Duration `json:"-"`
	// Served is how many were served, Abandoned how many of these for clients
	// that had given up.
	Served    int `json:"served"`
	Abandoned int `json:"abandoned"`
}

// Counts returns how the service stands.
func (s *Service) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}
