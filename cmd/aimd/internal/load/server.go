package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"time"
)

// longestDelay bounds the service time, which would overflow from some 7800 requests on. Our choice.
const longestDelay = 24 * time.Hour

// slowdown is how the service slows down. All fields must be positive.
type slowdown struct {
	// limit is how many requests at a time are served without slowdown.
	limit int
	// base is the service time up to the limit.
	base time.Duration
	// factor, from 1 on, and k are how it grows from there; see delay.
	factor, k float64
	// recheck is how often a request computes its service time again.
	recheck time.Duration
}

// delay is the service time at that concurrency. The text:
//
//	"The server is responsible for minDelay (100 ms) until the number of simultaneous
//	connections exceeds concurrencyLimit (30), after which the response time
//	increases exponentially: minDelay * factor ^ ((concurrency - concurrencyLimit) / K)"
func (s slowdown) delay(concurrency int) time.Duration {
	if concurrency <= s.limit {
		return s.base
	}
	d := float64(s.base) * math.Pow(s.factor, float64(concurrency-s.limit)/s.k)
	if d < float64(longestDelay) { // false for infinity
		return time.Duration(d)
	}
	return longestDelay
}

// service is the service of "Exponential Backoff or how not to crash a server". It also works
// for clients that have given up.
type service struct {
	slowdown
	counter[serviceCounts]
	closed chan struct{}
}

type serviceCounts struct {
	// Concurrency is how many requests are being served, Peak the most so far.
	Concurrency int `json:"concurrency"`
	Peak        int `json:"peak"`
	// LastDelay is the service time that was computed last.
	LastDelay time.Duration `json:"-"`
	// Served counts the answers, Abandoned the answers to clients that had given up.
	Served    int `json:"served"`
	Abandoned int `json:"abandoned"`
}

func newService(s slowdown) *service { return &service{slowdown: s, closed: make(chan struct{})} }

// ServeHTTP answers OK after the service time. A request whose client has given up stays and
// counts like any other.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.change(func(c *serviceCounts) {
		c.Concurrency++
		c.Peak = max(c.Peak, c.Concurrency)
	})
	defer s.change(func(c *serviceCounts) { c.Concurrency-- })
	if !s.serve() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	s.change(func(c *serviceCounts) {
		c.Served++
		if r.Context().Err() != nil {
			c.Abandoned++
		}
	})
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte("OK")) // the client may be gone
}

// serve lasts for the service time, which each look computes again. It returns false if the
// service is closed before.
func (s *service) serve() bool {
	began := time.Now()
	look := time.NewTicker(s.recheck)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-s.closed:
			return false
		}
		n := s.change(func(c *serviceCounts) { c.LastDelay = s.delay(c.Concurrency) })
		if time.Since(began) >= n.LastDelay {
			return true
		}
	}
}

const path = "/api"

type server struct {
	slowdown
	reports
	address string
	// backlog is how many connections the kernel keeps while the server is stopped; 0: as many
	// as the system allows.
	backlog int
	stderr  io.Writer
}

// run serves until the context ends, and writes reports, and a summary at the end.
func (s server) run(ctx context.Context) error {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	if s.backlog > 0 {
		if err := setBacklog(l, s.backlog); err != nil {
			_ = l.Close() // it had no connection
			return err
		}
	}
	service := newService(s.slowdown)
	mux := http.NewServeMux()
	mux.Handle(path, service)
	h := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(s.stderr, "aimd server: ", 0)}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	fmt.Fprintf(s.stderr, "Listening at http://%s%s, Ctrl-C ends it.\n", l.Addr(), path)

	began := time.Now()
	err = s.until(ctx, failed, func(at time.Time, _ time.Duration) report { return service.now().report(at) })
	counts := service.now() // before the requests that are being served are sent away
	close(service.closed)
	_ = h.Close() // the listener is all that could fail to close
	return errors.Join(err, s.write(counts.summary(time.Since(began))))
}

// report is a line like the text's program:
//
//	Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s
func (c serviceCounts) report(at time.Time) report {
	return report{
		fmt.Sprintf("%s: concurrency: %4d, last delay: %s", at.Format(time.StampMilli), c.Concurrency, c.LastDelay),
		struct {
			Time time.Time `json:"time"`
			serviceCounts
			LastDelay float64 `json:"last_delay_s"`
		}{at, c, c.LastDelay.Seconds()},
	}
}

func (c serviceCounts) summary(took time.Duration) report {
	return report{
		fmt.Sprintf("Served %d requests in %s, %d of them for clients that had given up, at most %d at a time; %d were not done.",
			c.Served, took.Round(100*time.Millisecond), c.Abandoned, c.Peak, c.Concurrency),
		map[string]any{"summary": struct {
			Seconds float64 `json:"seconds"`
			serviceCounts
		}{took.Seconds(), c}},
	}
}
