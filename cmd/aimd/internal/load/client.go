package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/sim"
)

// clients are the many clients of "Exponential Backoff or how not to crash a server": each
// sends requests at random moments. All numbers must be positive.
type clients struct {
	reports
	url string
	// n clients send one request at a time each.
	n int
	// lambda is the mean time from the end of a client's operation to the begin of the next,
	// in seconds. The times are distributed exponentially.
	lambda  float64
	timeout time.Duration // of an attempt

	counter[clientCounts]
	working strategy.Strategy
	http    *http.Client
}

// clientCounts are how many attempts ended how, and how many operations without success.
type clientCounts struct {
	OK       int64 `json:"ok"`
	Errors   int64 `json:"errors"`
	TimedOut int64 `json:"timedout"`
	GaveUp   int64 `json:"gave_up"`
}

// run sends until the context ends, writes reports, and a summary at the end.
func (c *clients) run(ctx context.Context, s sim.Strategy) (err error) {
	if c.working, err = strategy.New(s); err != nil {
		return err
	}
	// A dial outlives its request. Without a bound many dials would use up the files.
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: c.timeout}).DialContext, MaxIdleConnsPerHost: c.n}
	defer transport.CloseIdleConnections()
	c.http = &http.Client{Transport: transport}

	var wg sync.WaitGroup
	sending, cancel := context.WithCancel(ctx)
	for range c.n {
		wg.Go(func() { c.client(sending) })
	}
	began, before := time.Now(), clientCounts{}
	err = c.until(ctx, nil, func(at time.Time, span time.Duration) report {
		last := before
		before = c.now()
		return c.report(at, before.since(last, span))
	})
	if err == nil {
		err = c.write(c.summary(time.Since(began)))
	}
	cancel()
	wg.Wait()
	return err
}

// client is one client: "Each client thread executes queries at intervals corresponding to an
// exponential distribution"; "In case of a request execution error (or when the response
// time-out is exceeded), the client begins to repeat the request".
func (c *clients) client(ctx context.Context) {
	for {
		select {
		case <-time.After(c.interval()):
		case <-ctx.Done():
			return
		}
		if err := c.working.Do(ctx, c.attempt); err != nil && ctx.Err() == nil {
			c.change(func(n *clientCounts) { n.GaveUp++ })
		}
	}
}

func (c *clients) interval() time.Duration {
	return time.Duration(rand.ExpFloat64() * c.lambda * float64(time.Second))
}

func (c *clients) attempt(ctx context.Context) error {
	attempt, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err := c.send(attempt)
	c.change(func(n *clientCounts) {
		var t interface{ Timeout() bool }
		switch {
		case err == nil:
			n.OK++
		case ctx.Err() != nil: // the run is over
		case attempt.Err() != nil, errors.As(err, &t) && t.Timeout(): // a dial's may come a moment before
			n.TimedOut++
		default:
			n.Errors++
		}
	})
	return err
}

// bodyMost is how much of an answer is read, in bytes.
const bodyMost = 1 << 20

func (c *clients) send(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
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
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, bodyMost))
	return err
}

type rates struct {
	OK       float64 `json:"ok_per_s"`
	Errors   float64 `json:"errors_per_s"`
	TimedOut float64 `json:"timedout_per_s"`
	GaveUp   float64 `json:"gave_up_per_s"`
}

// since returns the rates between two moments, per second.
func (c clientCounts) since(before clientCounts, span time.Duration) rates {
	per := func(n, before int64) float64 { return float64(n-before) / span.Seconds() }
	return rates{per(c.OK, before.OK), per(c.Errors, before.Errors), per(c.TimedOut, before.TimedOut), per(c.GaveUp, before.GaveUp)}
}

// shared is how the limiter that the clients share stands.
type shared struct {
	Cwnd     float64 `json:"cwnd"`
	Ssthresh float64 `json:"ssthresh"`
	InFlight int     `json:"in_flight"`
	Queued   int     `json:"queued"`
}

// report is a line like the text's program:
//
//	OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec
func (c *clients) report(at time.Time, r rates) report {
	var window *shared
	if l := c.working.Limiter; l != nil {
		s := l.Snapshot()
		window = &shared{s.Cwnd, s.Ssthresh, s.InFlight, s.Queued}
	}
	return report{
		fmt.Sprintf("OK: %.2f req/sec, errors: %.2f req/sec, timedout: %.2f req/sec", r.OK, r.Errors, r.TimedOut),
		struct {
			Time time.Time `json:"time"`
			rates
			*shared
		}{at, r, window},
	}
}

func (c *clients) summary(took time.Duration) report {
	n := c.now()
	line := fmt.Sprintf("%s, %s: OK: %d, errors: %d, timedout: %d; %d were given up.",
		c.working.Name, took.Round(100*time.Millisecond), n.OK, n.Errors, n.TimedOut, n.GaveUp)
	if l := c.working.Limiter; l != nil {
		line += "\n" + l.Snapshot().String()
	}
	return report{line, map[string]any{"summary": struct {
		Strategy string  `json:"strategy"`
		Seconds  float64 `json:"seconds"`
		clientCounts
	}{c.working.Name, took.Seconds(), n}}}
}
