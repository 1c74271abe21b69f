// Package client is the many clients of "Exponential Backoff or how not to crash a
// server": each sends requests at random moments, and deals with failures as its
// strategy says.
package client

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/sim"
)

// Config is who sends how much where. All numbers must be positive.
type Config struct {
	// URL is what is asked for.
	URL string
	// Clients send one request at a time each.
	Clients int
	// Lambda is the mean time from the end of a client's operation to the begin of
	// its next, which is distributed exponentially.
	Lambda time.Duration
	// Timeout is the most time for an attempt.
	Timeout time.Duration
	// Strategy is what is done after a failure; see Strategies and Named.
	Strategy sim.Strategy
}

// Options are what a run needs beside that.
type Options struct {
	// Report is how often a line is written.
	Report time.Duration
	// JSON: the lines are JSON objects.
	JSON bool
	// Stdout gets the lines.
	Stdout io.Writer
}

// clients are all clients of a run, and what they share.
type clients struct {
	config   Config
	strategy strategy
	http     *http.Client

	mu sync.Mutex
	// Guarded by mu.
	n counts
}

// Run sends until the context ends, writes a line from time to time, and a
// summary in the end.
func Run(ctx context.Context, c Config, o Options) error {
	s, err := newStrategy(c.Strategy)
	if err != nil {
		return err
	}
	// A dial outlives the request that it was made for, by half a minute if
	// nothing bounds it; so many would use up the files.
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: c.Timeout}).DialContext, MaxIdleConnsPerHost: c.Clients}
	defer transport.CloseIdleConnections()
	all := &clients{config: c, strategy: s, http: &http.Client{Transport: transport}}

	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	for range c.Clients {
		wg.Go(func() { all.client(ctx) })
	}
	err = all.report(ctx, o)
	cancel()
	wg.Wait()
	return err
}

// client is one client. How not to crash a server: "Each client thread executes queries at intervals
// corresponding to an exponential distribution"; "In case of a request execution error
// (or when the response time-out is exceeded), the client begins to repeat the request".
func (c *clients) client(ctx context.Context) {
	for sleep(ctx, c.interval()) {
		if err := c.strategy.do(ctx, c.attempt); err != nil && ctx.Err() == nil {
			c.count(func(n *counts) { n.GaveUp++ })
		}
	}
}

func (c *clients) interval() time.Duration {
	return time.Duration(rand.ExpFloat64() * float64(c.config.Lambda))
}

func (c *clients) attempt(ctx context.Context) error {
	attempt, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	err := c.send(attempt)
	c.count(func(n *counts) {
		switch {
		case err == nil:
			n.OK++
		case ctx.Err() != nil: // the run is over
		case attempt.Err() != nil, isTimeout(err): // a dial's may come a moment before
			n.TimedOut++
		default:
			n.Errors++
		}
	})
	return err
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func (c *clients) send(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.URL, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httplimit.Check(resp); err != nil {
		return err
	}
	return drain(resp.Body)
}

// mostBody is how much of an answer is read, in bytes.
const mostBody = 1 << 20

// drain reads an answer, so that its connection can serve again.
func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, io.LimitReader(r, mostBody))
	return err
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
