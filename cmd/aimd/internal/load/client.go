package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/sim"
)

// clients are the many clients of "Exponential Backoff or how not to crash a server": each
// sends requests at random moments. All numbers must be positive.
type clients struct {
	every time.Duration // from a line to the next
	url   string
	// n clients send one request at a time each.
	n int
	// lambda is the mean time from the end of a client's operation to the begin of the next,
	// in seconds. The times are distributed exponentially.
	lambda  float64
	timeout time.Duration // of an attempt

	name string // of the strategy
	// fixed is the delay of a constant strategy. min and max are those of the others; 0: the strategy's own.
	fixed, min, max time.Duration

	http *http.Client
	ends ends
}

// ends are how attempts ended, and the number of operations that were given up.
type ends struct{ ok, errors, timedOut, gaveUp atomic.Int64 }

func newClients() *clients {
	return &clients{
		every: 5 * time.Second, url: "http://127.0.0.1:8070" + path, n: 1000, lambda: 10, timeout: 2 * time.Second,
		name: "fixed", fixed: 100 * time.Millisecond,
	}
}

// ClientCommand is aimd client.
func ClientCommand() *cobra.Command {
	s := newClients()
	c := cli.Help(help, &cobra.Command{
		Use: "client", Short: "Be a thousand clients of aimd server, with any strategy", Args: cli.NoArgs,
	})
	var names []string
	for _, s := range strategy.All() {
		names = append(names, s.Name)
	}
	f := cli.Flags(c)
	f.Var(value.Whole(&s.n, 1, 100_000), "clients", "number of clients")
	f.Var(value.Decimal(&s.lambda, 0.001, 86_400), "lambda", "mean time from a client's request to its next, in seconds; distributed exponentially")
	f.Var(value.Duration(&s.timeout, time.Millisecond, time.Hour), "timeout", "longest time for a request")
	want := "one of " + strings.Join(names, ", ") + ", or tahoe or reno with another factor, greater than 0 and less than 1"
	f.Var(value.Text(&s.name, "name", want, func(s string) bool {
		_, known := strategy.Named(s)
		return known
	}), "strategy", "the reaction to a failure, see above")
	f.Var(value.Duration(&s.fixed, 0, 24*time.Hour), "simple-backoff-delay", "delay of fixed and fixed-jitter")
	f.Var(value.Duration(&s.min, time.Millisecond, 24*time.Hour), "min-delay", "first delay of those that grow; without it the strategy's own")
	f.Var(value.Duration(&s.max, time.Millisecond, 24*time.Hour), "max-delay", "longest delay of those that grow; without it the strategy's own")
	cli.NoDefault(f, "min-delay", "max-delay")
	f.Var(value.URL(&s.url, "a URL like http://127.0.0.1:8070/api", func(*url.URL) bool { return true }), "url", "the address of the requests")
	f.Var(value.Duration(&s.every, 100*time.Millisecond, time.Hour), "report", "time from a line to the next")
	cli.Complete(c, "strategy", names)
	c.RunE = func(c *cobra.Command, _ []string) error {
		working, err := strategy.New(s.strategy())
		if err != nil {
			return cli.Usage(c, fmt.Errorf("--strategy %s, as changed: %w", s.name, err))
		}
		return s.run(c.Context(), working, c.OutOrStdout())
	}
	return c
}

// strategy is the one that was chosen, with the delays that replace its own.
func (c *clients) strategy() sim.Strategy {
	s, _ := strategy.Named(c.name)
	switch r := s.Retry; {
	case r == nil:
	case r.Factor == 1:
		r.Min = c.fixed
	default:
		r.Min, r.Max = cmp.Or(c.min, r.Min), cmp.Or(c.max, r.Max)
	}
	return s
}

// run sends until the context ends, and writes lines, and a summary at the end.
func (c *clients) run(ctx context.Context, s strategy.Strategy, stdout io.Writer) error {
	// A dial outlives its request. Without a bound many dials would use up the files.
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: c.timeout}).DialContext, MaxIdleConnsPerHost: c.n}
	defer transport.CloseIdleConnections()
	c.http = &http.Client{Transport: transport}
	var wg sync.WaitGroup
	for range c.n {
		wg.Go(func() { c.client(ctx, s) })
	}
	var before [3]int64
	lines(ctx, stdout, c.every, func(time.Time) string {
		last := before
		before = [3]int64{c.ends.ok.Load(), c.ends.errors.Load(), c.ends.timedOut.Load()}
		return rates(last, before, c.every)
	})
	wg.Wait()
	text := fmt.Sprintf("%s: OK: %d, errors: %d, timedout: %d; %d were given up.\n",
		s.Name, c.ends.ok.Load(), c.ends.errors.Load(), c.ends.timedOut.Load(), c.ends.gaveUp.Load())
	if s.Limiter != nil {
		text += s.Limiter.Snapshot().String() + "\n"
	}
	_, err := io.WriteString(stdout, text)
	return err
}

// client is one client: "Each client thread executes queries at intervals corresponding to an
// exponential distribution"; "In case of a request execution error (or when the response
// time-out is exceeded), the client begins to repeat the request".
func (c *clients) client(ctx context.Context, s strategy.Strategy) {
	for {
		select {
		case <-time.After(c.interval()):
		case <-ctx.Done():
			return
		}
		if err := s.Do(ctx, c.attempt); err != nil && ctx.Err() == nil {
			c.ends.gaveUp.Inc()
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
	var t interface{ Timeout() bool }
	switch {
	case err == nil:
		c.ends.ok.Inc()
	case ctx.Err() != nil: // the run is over
	case attempt.Err() != nil, errors.As(err, &t) && t.Timeout(): // a dial's may come a moment before
		c.ends.timedOut.Inc()
	default:
		c.ends.errors.Inc()
	}
	return err
}

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
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// rates are the rates between two moments, in a line like the text's program:
//
//	OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec
func rates(before, now [3]int64, span time.Duration) string {
	per := func(i int) float64 { return float64(now[i]-before[i]) / span.Seconds() }
	return fmt.Sprintf("OK: %.2f req/sec, errors: %.2f req/sec, timedout: %.2f req/sec", per(0), per(1), per(2))
}
