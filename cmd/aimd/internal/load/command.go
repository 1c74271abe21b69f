// Package load is a service to crash, and the clients that crash it: aimd server and
// aimd client.
package load

import (
	"embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/delays"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/client"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/server"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

//go:embed help
var help embed.FS

// ServerCommand is aimd server.
func ServerCommand() *cobra.Command {
	d := server.Config{Limit: 30, BaseDelay: 100 * time.Millisecond, Factor: 1.05, K: 15, Recheck: 50 * time.Millisecond}
	o := server.Options{Address: "127.0.0.1:8070", Backlog: 128, Report: time.Second}
	var most time.Duration
	c := cli.Help(help, &cobra.Command{
		Use: "server", Short: "Be a service that slows down under load, for aimd client", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Limit, 1, 1_000_000), "limit", "how many requests at a time are served without slowdown")
	f.Var(value.Decimal(&d.Factor, 1, 1000), "factor", "how much slower K requests more make it")
	f.Var(value.Duration(&d.BaseDelay, time.Millisecond, time.Hour), "baseDelay", "service time up to the limit")
	f.VarP(value.Decimal(&d.K, 0.001, 1_000_000), "K", "K", "how many requests more make it slower by the factor")
	f.Var(value.Duration(&d.Recheck, time.Millisecond, time.Minute), "recheck", "how often a request's service time is computed anew; service times are whole multiples of it")
	f.Var(address(&o.Address), "address", "where to listen; 127.0.0.1 is this machine alone, 0.0.0.0 all its addresses")
	f.Var(value.Whole(&o.Backlog, 0, 65_535), "backlog", "how many connections the kernel keeps while the server is stopped; 0: the system's maximum, 4096 on most")
	f.Var(value.Duration(&o.Report, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(&most, 0, 30*24*time.Hour), "duration", "how long to serve; 0s: until Ctrl-C")
	f.BoolVar(&o.JSON, "json", false, "the lines are JSON objects; they also have the peak, and the answers in all and to clients that had given up")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o.Stdout, o.Stderr = c.OutOrStdout(), c.ErrOrStderr()
		ctx, cancel := cli.Bounded(c.Context(), most)
		defer cancel()
		return server.Run(ctx, d, o)
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
	d := client.Config{URL: "http://127.0.0.1:8070/api", Clients: 1000, Timeout: 2 * time.Second}
	o := client.Options{Report: 5 * time.Second}
	var s choice
	lambda, most := 10.0, time.Duration(0)
	c := cli.Help(help, &cobra.Command{
		Use: "client", Short: "Be a thousand clients of aimd server, with any strategy", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Clients, 1, 100_000), "clients", "how many clients there are")
	f.Var(value.Decimal(&lambda, 0.001, 86_400), "lambda", "mean time from a client's request to its next, in seconds; distributed exponentially")
	f.Var(value.Duration(&d.Timeout, time.Millisecond, time.Hour), "timeout", "longest time for a request")
	s.flags(f)
	f.Var(value.URL(&d.URL, "a URL like http://127.0.0.1:8070/api", func(*url.URL) bool { return true }), "url", "the address of the requests")
	f.Var(value.Duration(&o.Report, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(&most, 0, 30*24*time.Hour), "duration", "how long to send; 0s: until Ctrl-C")
	f.BoolVar(&o.JSON, "json", false, "the lines are JSON objects; they also have the operations given up and the window")
	cli.Complete(c, "strategy", strategyNames())
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if d.Strategy, err = s.strategy(f); err != nil {
			return cli.Usage(c, err)
		}
		d.Lambda = time.Duration(lambda * float64(time.Second))
		o.Stdout = c.OutOrStdout()
		ctx, cancel := cli.Bounded(c.Context(), most)
		defer cancel()
		return client.Run(ctx, d, o)
	}
	return c
}

// choice is the strategy's name, and the settings that replace the strategy's own.
type choice struct {
	name               string
	exponential        bool
	fixed, least, most time.Duration
	factor             float64
	jitter             string
}

func (s *choice) flags(f *pflag.FlagSet) {
	own := client.Exponential().Retry
	*s = choice{name: "fixed", fixed: 100 * time.Millisecond, least: own.Min, most: own.Max, factor: own.Factor, jitter: own.Jitter.String()}
	names := strategyNames()
	f.Var(value.Text(&s.name, "name", "one of "+strings.Join(names, ", ")+", or tahoe or reno with another factor, greater than 0 and less than 1", func(s string) bool {
		_, known := client.Named(s)
		return known
	}), "strategy", "the reaction to a failure, see above")
	f.BoolVar(&s.exponential, "exponential-backoff", false, "short for --strategy exponential")
	f.Var(value.Duration(&s.fixed, 0, 24*time.Hour), "simple-backoff-delay", "delay of fixed and fixed-jitter")
	f.Var(value.Duration(&s.least, time.Millisecond, 24*time.Hour), "min-delay", "first delay of those that grow")
	f.Var(value.Duration(&s.most, time.Millisecond, 24*time.Hour), "max-delay", "longest delay of those that grow")
	f.Var(value.Decimal(&s.factor, 1, 1000), "factor", "by how much each delay is longer than the one before")
	f.Var(value.Text(&s.jitter, "form", "none, full, equal, proportional:J, normal:J or uniform:LO:HI, J from 0 to 1, HI at most 100; J alone is normal:J", func(s string) bool {
		_, err := parseJitter(s)
		return err == nil
	}), "jitter", "random part of a delay: proportional:0.2 is within 20% of it either way, normal:0.2 has that as its standard deviation")
	for _, name := range []string{"min-delay", "max-delay", "factor", "jitter"} {
		l := f.Lookup(name)
		l.DefValue = "the strategy's, " + l.DefValue + " of exponential"
	}
}

func strategyNames() []string {
	var names []string
	for _, s := range client.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

func (s *choice) strategy(f *pflag.FlagSet) (sim.Strategy, error) {
	if s.exponential {
		if f.Changed("strategy") && s.name != "exponential" {
			return sim.Strategy{}, fmt.Errorf("--exponential-backoff and --strategy %s: want one of them; the first is short for --strategy exponential", s.name)
		}
		s.name = "exponential"
	}
	chosen, _ := client.Named(s.name)
	r := &chosen.Retry
	if r.Kind == "constant" { // the text's program takes the flag with the other strategy, too
		r.Min = s.fixed
	}
	jitter, err := parseJitter(s.jitter)
	for _, change := range []struct {
		flag string
		make func()
	}{
		{"min-delay", func() { r.Min = s.least }}, {"max-delay", func() { r.Max = s.most }},
		{"factor", func() { r.Factor = s.factor }}, {"jitter", func() { r.Jitter = jitter }},
	} {
		switch {
		case !f.Changed(change.flag):
		case delays.Takes(r.Kind, strings.TrimSuffix(change.flag, "-delay")):
			change.make()
		default:
			err = errors.Join(err, fmt.Errorf("--%s: makes no difference to --strategy %s, want it without", change.flag, s.name))
		}
	}
	if d := r.Delays(); err == nil && d != nil {
		if err = backoff.Check(d); err != nil {
			err = fmt.Errorf("--strategy %s, as changed: %w", s.name, err)
		}
	}
	return chosen, err
}

// parseJitter also takes a number for itself, as the text's program has it: a deviate.
func parseJitter(s string) (backoff.Jitter, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s = "normal:" + s
	}
	var j backoff.Jitter
	err := j.UnmarshalText([]byte(s))
	return j, err
}
