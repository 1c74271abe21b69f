// Package server is the service of "Exponential Backoff or how not to crash a server". Like
// a database, it is slower the more requests it has at a time. It also works for clients
// that have given up.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// LongestDelay is the most that the service time grows to. Our choice; without
// a bound it overflows from some 7800 requests on, and a request whose service
// time is negative is answered at once.
const LongestDelay = 24 * time.Hour

// Config describes the service. All fields must be positive.
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

// Delay is the service time at that concurrency. The text:
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

// New returns a service.
func New(c Config) *Service { return &Service{config: c, closed: make(chan struct{})} }

// Close ends the requests that are being served. Call it once.
func (s *Service) Close() { close(s.closed) }

// ServeHTTP answers OK after the service time. Each look computes the service time again,
// from the text's "current number of simultaneous connections". A request whose client has
// given up stays and counts like any other.
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
	_, _ = w.Write([]byte("OK")) // the client may be gone
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
	// Served counts the answers, Abandoned the answers to clients that had given up.
	Served    int `json:"served"`
	Abandoned int `json:"abandoned"`
}

// Counts returns how the service stands.
func (s *Service) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Path is where the service is.
const Path = "/api"

// Options are the other settings of a run.
type Options struct {
	// Address is where to listen, as net.Listen has it.
	Address string
	// Backlog is how many connections the kernel keeps while the server does not
	// accept them, as when it is stopped; 0: as many as the system allows.
	Backlog int
	// Report is how often a line is written.
	Report time.Duration
	// JSON: the lines are JSON objects.
	JSON bool
	// Stdout gets the lines, Stderr all else.
	Stdout, Stderr io.Writer
}

// Run serves until the context ends. It writes a line from time to time, and a summary at
// the end. It returns the error of listening.
func Run(ctx context.Context, c Config, o Options) error {
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return err
	}
	if o.Backlog > 0 {
		if err := setBacklog(l, o.Backlog); err != nil {
			_ = l.Close() // it had no connection
			return err
		}
	}
	service := New(c)
	mux := http.NewServeMux()
	mux.Handle(Path, service)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(&refusals{w: o.Stderr}, "aimd server: ", 0)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	fmt.Fprintf(o.Stderr, "Listening at http://%s%s, Ctrl-C ends it.\n", l.Addr(), Path)

	began := time.Now()
	err = report(ctx, service, o, failed)
	counts := service.Counts() // before those being served are sent away
	service.Close()
	_ = server.Close() // the listener is all that could fail to close
	return errors.Join(err, o.summary(counts, time.Since(began)))
}

// report writes the lines until the context ends, or the server fails.
func report(ctx context.Context, s *Service, o Options, failed <-chan error) error {
	t := time.NewTicker(o.Report)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-t.C:
			if err := o.line(time.Now(), s.Counts()); err != nil {
				return err
			}
		}
	}
}

// line writes a line like the text's program:
//
//	Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s
func (o Options) line(now time.Time, c Counts) error {
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(struct {
			Time time.Time `json:"time"`
			Counts
			LastDelay float64 `json:"last_delay_s"`
		}{now, c, c.LastDelay.Seconds()})
	}
	_, err := fmt.Fprintf(o.Stdout, "%s: concurrency: %4d, last delay: %s\n", now.Format(time.StampMilli), c.Concurrency, c.LastDelay)
	return err
}

func (o Options) summary(c Counts, took time.Duration) error {
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(map[string]any{"summary": struct {
			Seconds float64 `json:"seconds"`
			Counts
		}{took.Seconds(), c}})
	}
	_, err := fmt.Fprintf(o.Stdout, "Served %d requests in %s, %d of them for clients that had given up, at most %d at a time; %d were not done.\n",
		c.Served, took.Round(100*time.Millisecond), c.Abandoned, c.Peak, c.Concurrency)
	return err
}

// refusals writes what the HTTP server complains of, but of connections that it
// could not accept only the first: with no file left for them it tries again
// every second, for as long as it lasts.
type refusals struct {
	w    io.Writer
	mu   sync.Mutex
	told bool
}

func (r *refusals) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.Contains(p, []byte("Accept error")) {
		if r.told {
			return len(p), nil
		}
		r.told = true
	}
	return r.w.Write(p)
}
