// Package client is the many clients of "Exponential Backoff or how not to crash a
// server": each sends requests at random moments, and deals with failures as its
// strategy says.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// URL is the address of the requests.
	URL string
	// Clients send one request at a time each.
	Clients int
	// Lambda is the mean time from the end of a client's operation to the begin of the
	// next. The times are distributed exponentially.
	Lambda time.Duration
	// Timeout is the most time for an attempt.
	Timeout time.Duration
	// Strategy decides what follows a failure; see Strategies and Named.
	Strategy sim.Strategy
}

// Options are the other settings of a run.
type Options struct {
	// Report is how often a line is written.
	Report time.Duration
	// JSON: the lines are JSON objects.
	JSON bool
	// Stdout gets the lines.
	Stdout io.Writer
}

// clients are the clients of a run with their shared state.
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
	// A dial outlives its request, by half a minute without a bound. Many such dials
	// would use up the files.
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
	// Read, so that its connection can serve again.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, mostBody))
	return err
}

// mostBody is how much of an answer is read, in bytes.
const mostBody = 1 << 20

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// counts are how many attempts ended how, and how many operations without success.
type counts struct {
	OK       int64 `json:"ok"`
	Errors   int64 `json:"errors"`
	TimedOut int64 `json:"timedout"`
	GaveUp   int64 `json:"gave_up"`
}

func (c *clients) counts() counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *clients) count(change func(*counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.n)
}

type rates struct {
	OK       float64 `json:"ok_per_s"`
	Errors   float64 `json:"errors_per_s"`
	TimedOut float64 `json:"timedout_per_s"`
	GaveUp   float64 `json:"gave_up_per_s"`
}

// since returns the rates between two moments, per second.
func (c counts) since(before counts, span time.Duration) rates {
	per := func(n, before int64) float64 { return float64(n-before) / span.Seconds() }
	return rates{per(c.OK, before.OK), per(c.Errors, before.Errors), per(c.TimedOut, before.TimedOut), per(c.GaveUp, before.GaveUp)}
}

// report writes the lines until the context ends, then the summary. A last span
// of less than half the time has no line.
func (c *clients) report(ctx context.Context, o Options) error {
	t := time.NewTicker(o.Report)
	defer t.Stop()
	began := time.Now()
	last, before := began, counts{}
	for ctx.Err() == nil {
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		now, n := time.Now(), c.counts()
		if span := now.Sub(last); span >= o.Report/2 {
			if err := c.line(o, now, n.since(before, span)); err != nil {
				return err
			}
			last, before = now, n
		}
	}
	return c.summary(o, time.Since(began))
}

// line writes a line like the text's program:
//
//	OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec
func (c *clients) line(o Options, now time.Time, r rates) error {
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(struct {
			Time time.Time `json:"time"`
			rates
			*shared
		}{now, r, c.shared()})
	}
	_, err := fmt.Fprintf(o.Stdout, "OK: %.2f req/sec, errors: %.2f req/sec, timedout: %.2f req/sec\n", r.OK, r.Errors, r.TimedOut)
	return err
}

// shared is how the limiter that the clients share stands.
type shared struct {
	Cwnd     float64 `json:"cwnd"`
	Ssthresh float64 `json:"ssthresh"`
	InFlight int     `json:"in_flight"`
	Queued   int     `json:"queued"`
}

func (c *clients) shared() *shared {
	if c.strategy.limiter == nil {
		return nil
	}
	s := c.strategy.limiter.Snapshot()
	return &shared{s.Cwnd, s.Ssthresh, s.InFlight, s.Queued}
}

func (c *clients) summary(o Options, took time.Duration) error {
	n := c.counts()
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(map[string]any{"summary": struct {
			Strategy string  `json:"strategy"`
			Seconds  float64 `json:"seconds"`
			counts
		}{c.strategy.name, took.Seconds(), n}})
	}
	_, err := fmt.Fprintf(o.Stdout, "%s, %s: OK: %d, errors: %d, timedout: %d; %d were given up.\n",
		c.strategy.name, took.Round(100*time.Millisecond), n.OK, n.Errors, n.TimedOut, n.GaveUp)
	if l := c.strategy.limiter; l != nil && err == nil {
		_, err = fmt.Fprintln(o.Stdout, l.Snapshot())
	}
	return err
}
