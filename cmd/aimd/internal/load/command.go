// Package load is a service to crash, and the clients that crash it: aimd server and aimd
// client, after "Exponential Backoff or how not to crash a server".
package load

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/delays"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

//go:embed help
var help embed.FS

// ServerCommand is aimd server.
func ServerCommand() *cobra.Command {
	s := server{
		slowdown: slowdown{limit: 30, base: 100 * time.Millisecond, factor: 1.05, k: 15, recheck: 50 * time.Millisecond},
		address:  "127.0.0.1:8070", backlog: 128,
	}
	c := cli.Help(help, &cobra.Command{
		Use: "server", Short: "Be a service that slows down under load, for aimd client", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&s.limit, 1, 1_000_000), "limit", "how many requests at a time are served without slowdown")
	f.Var(value.Decimal(&s.factor, 1, 1000), "factor", "how much slower K requests more make it")
	f.Var(value.Duration(&s.base, time.Millisecond, time.Hour), "baseDelay", "service time up to the limit")
	f.VarP(value.Decimal(&s.k, 0.001, 1_000_000), "K", "K", "how many requests more make it slower by the factor")
	f.Var(value.Duration(&s.recheck, time.Millisecond, time.Minute), "recheck", "how often a request computes its service time again; service times are whole multiples of it")
	f.Var(address(&s.address), "address", "where to listen; 127.0.0.1 is this machine alone, 0.0.0.0 all its addresses")
	f.Var(value.Whole(&s.backlog, 0, 65_535), "backlog", "how many connections the kernel keeps while the server is stopped; 0: the system's maximum, 4096 on most")
	most := s.flags(f, time.Second, "how long to serve", "the peak, and the answers in all and to clients that had given up")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s.to, s.stderr = c.OutOrStdout(), c.ErrOrStderr()
		ctx, cancel := bounded(c.Context(), *most)
		defer cancel()
		return s.run(ctx)
	}
	return c
}

func address(to *string) *value.Value[string] {
	return value.Text(to, "host:port", "a host or none, and a port from 0 to 65535, like 127.0.0.1:8070; port 0 is any that is free", func(s string) bool {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		return err == nil
	})
}

// ClientCommand is aimd client.
func ClientCommand() *cobra.Command {
	s := clients{url: "http://127.0.0.1:8070/api", n: 1000, lambda: 10, timeout: 2 * time.Second}
	var chosen choice
	c := cli.Help(help, &cobra.Command{
		Use: "client", Short: "Be a thousand clients of aimd server, with any strategy", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&s.n, 1, 100_000), "clients", "how many clients there are")
	f.Var(value.Decimal(&s.lambda, 0.001, 86_400), "lambda", "mean time from a client's request to its next, in seconds; distributed exponentially")
	f.Var(value.Duration(&s.timeout, time.Millisecond, time.Hour), "timeout", "longest time for a request")
	chosen.flags(f)
	f.Var(value.URL(&s.url, "a URL like http://127.0.0.1:8070/api", func(*url.URL) bool { return true }), "url", "the address of the requests")
	most := s.flags(f, 5*time.Second, "how long to send", "the operations given up and the window")
	cli.Complete(c, "strategy", strategyNames())
	c.RunE = func(c *cobra.Command, _ []string) error {
		wanted, err := chosen.strategy(f)
		if err != nil {
			return cli.Usage(c, err)
		}
		s.to = c.OutOrStdout()
		ctx, cancel := bounded(c.Context(), *most)
		defer cancel()
		return s.run(ctx, wanted)
	}
	return c
}

// bounded returns a context that is cancelled after the time, or never if it is 0. It has no
// deadline: a retry that is due after a deadline is given up, and its client would send a new
// request in the place of the delay.
func bounded(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if most > 0 {
		time.AfterFunc(most, cancel)
	}
	return ctx, cancel
}

// choice is the strategy's name, and the settings that replace the strategy's own.
type choice struct {
	name string
	// exponential is the text's own flag for that strategy.
	exponential bool
	fixed       time.Duration
	own         sim.Retry
}

func (s *choice) flags(f *pflag.FlagSet) {
	*s = choice{name: "fixed", fixed: 100 * time.Millisecond, own: strategy.Exponential().Retry}
	want := "one of " + strings.Join(strategyNames(), ", ") + ", or tahoe or reno with another factor, greater than 0 and less than 1"
	f.Var(value.Text(&s.name, "name", want, func(s string) bool {
		_, known := strategy.Named(s)
		return known
	}), "strategy", "the reaction to a failure, see above")
	f.Var(value.Duration(&s.fixed, 0, 24*time.Hour), "simple-backoff-delay", "delay of fixed and fixed-jitter")
	f.Var(value.Duration(&s.own.Min, time.Millisecond, 24*time.Hour), "min-delay", "first delay of those that grow")
	f.Var(value.Duration(&s.own.Max, time.Millisecond, 24*time.Hour), "max-delay", "longest delay of those that grow")
	f.BoolVar(&s.exponential, "exponential-backoff", false, "short for --strategy exponential")
	f.Var(value.Decimal(&s.own.Factor, 1, 1000), "factor", "how much longer each delay of those that grow is than the one before")
	for _, name := range []string{"exponential-backoff", "factor"} { // of the text's program, and not shown
		f.Lookup(name).Hidden = true
	}
	for _, name := range []string{"min-delay", "max-delay"} {
		l := f.Lookup(name)
		l.DefValue = "the strategy's, " + l.DefValue + " of exponential"
	}
}

func strategyNames() (names []string) {
	for _, s := range strategy.All() {
		names = append(names, s.Name)
	}
	return names
}

func (s *choice) strategy(f *pflag.FlagSet) (sim.Strategy, error) {
	if s.exponential {
		if f.Changed("strategy") && s.name != strategy.Exponential().Name {
			return sim.Strategy{}, fmt.Errorf("--exponential-backoff and --strategy %s: want one of them; the first is short for --strategy exponential", s.name)
		}
		s.name = strategy.Exponential().Name
	}
	chosen, _ := strategy.Named(s.name)
	r := &chosen.Retry
	if r.Kind == "constant" { // the text's program takes the flag with the other strategy, too
		r.Min = s.fixed
	}
	err := delays.Change(f, r, s.own, "-delay", "--strategy "+s.name)
	if d := r.Delays(); err == nil && d != nil {
		if err = backoff.Check(d); err != nil {
			err = fmt.Errorf("--strategy %s, as changed: %w", s.name, err)
		}
	}
	return chosen, err
}

// reports writes how a run stands, from time to time.
type reports struct {
	every time.Duration
	json  bool
	to    io.Writer
}

// flags adds the flags of the reports, and a flag for the duration of the run.
func (r *reports) flags(f *pflag.FlagSet, every time.Duration, duration, also string) (most *time.Duration) {
	r.every, most = every, new(time.Duration)
	f.Var(value.Duration(&r.every, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(most, 0, 30*24*time.Hour), "duration", duration+"; 0s: until Ctrl-C")
	f.BoolVar(&r.json, "json", false, "the lines are JSON objects; they also have "+also)
	return most
}

// report is a line for people, and the object that --json writes for it.
type report struct {
	line   string
	object any
}

func (r reports) write(x report) error {
	if r.json {
		return json.NewEncoder(r.to).Encode(x.object)
	}
	_, err := fmt.Fprintln(r.to, x.line)
	return err
}

// until writes a report at each interval until the context ends, or something fails. At the
// end a span of less than half an interval has no report.
func (r reports) until(ctx context.Context, failed <-chan error, now func(at time.Time, span time.Duration) report) error {
	t := time.NewTicker(r.every)
	defer t.Stop()
	for last := time.Now(); ctx.Err() == nil; {
		select {
		case <-t.C:
		case <-ctx.Done():
		case err := <-failed:
			return err
		}
		at := time.Now()
		if at.Sub(last) < r.every/2 {
			continue
		}
		if err := r.write(now(at, at.Sub(last))); err != nil {
			return err
		}
		last = at
	}
	return nil
}

// counter has the counts of a run. It is safe for several goroutines.
type counter[T any] struct {
	mu     sync.Mutex
	counts T
}

func (c *counter[T]) change(f func(*T)) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.counts)
	return c.counts
}

func (c *counter[T]) now() T { return c.change(func(*T) {}) }
