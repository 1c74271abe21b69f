package load

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/client"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/filelimit"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const clientLong = `Client is many clients of a service. Each sends a request, waits for the
answer, and sends the next after a random time, --lambda seconds on average; so
1000 clients send about 100 requests per second. What each does when a request
fails, with a status from 400 on or after --timeout, is the strategy.

Strategies:
  none          the client gives up, and goes on with its next request when
                that is due
  fixed         again after --simple-backoff-delay, for as long as it takes
  exponential   again after a delay that grows: --min-delay, then --factor
                times the one before, at most --max-delay, and --jitter added.
                That is the loop of the text, with the figures of its program
  seed0         the same with the figures of the text: at most 15 minutes,
                factor 2
  fixed-jitter, backoff, backoff-no-jitter, backoff-full, backoff-equal,
  backoff-decorrelated, fibonacci, aloha, last-try
                other delays; package backoff says what each is good for.
                Backoff's are 50 ms doubling to 30 s, within 60% either way.
                Last-try gives up after its last try
  backoff-budget
                backoff, and at most 10% of what this process sends are retries;
                what would be more is given up
  backoff-throttle
                backoff, and what the service would most likely not take is not
                sent
  probe; tahoe-0.5, reno-0.9, with any factor
                again as soon as the window admits it. All clients share one
                window: so does a process with as many workers. Probe is the law
                of aimd.New, and needs no factor
They have the names, and what is not changed by flags the figures, of the
simulator.

What to try: aimd server -h says it. Every --report a line says how many
requests per second were answered, failed and timed out since the line before.
Ctrl-C ends it with a summary.

The flags and lines are those of the client program of "Exponential Backoff or
how not to crash a server" (Smirnov 2014). What differs: the first retry comes
after --min-delay, and the jitter is a share of the delay, as the text has it.
(The program took the time since the last request, times the factor, which is
27 s, and a normal deviate of 0.1 s.) And a status from 400 on is an error.`

const clientExample = `  aimd client                                # fixed
  aimd client -exponential-backoff           # --strategy exponential
  aimd client -strategy probe
  aimd client -clients 3000 -lambda 30 -timeout 1s
  aimd client -duration 1m -json | jq -c '[.ok_per_s, .timedout_per_s]'`

// ClientCommand is aimd client.
func ClientCommand() *cobra.Command {
	d := client.Config{URL: "http://127.0.0.1:8070/api", Clients: 1000, Timeout: 2 * time.Second}
	o := client.Options{Report: 5 * time.Second}
	var s choice
	lambda, most := 10.0, time.Duration(0)
	c := &cobra.Command{
		Use: "client", Short: "Be a thousand clients of aimd server, with any strategy",
		Long: clientLong, Example: clientExample, Args: cli.NoArgs,
	}
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Clients, 1, 100_000), "clients", "how many clients there are")
	f.Var(value.Decimal(&lambda, 0.001, 86_400), "lambda", "mean time from a client's request to its next, in seconds; distributed exponentially")
	f.Var(value.Duration(&d.Timeout, time.Millisecond, time.Hour), "timeout", "longest time for a request")
	s.flags(f)
	f.Var(requestURL(&d.URL), "url", "what to ask for")
	f.Var(value.Duration(&o.Report, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(&most, 0, 30*24*time.Hour), "duration", "how long to send; 0s: until Ctrl-C")
	f.BoolVar(&o.JSON, "json", false, "the lines are JSON objects; they tell of what was given up and of the window, too")
	cli.Complete(c, "strategy", strategyNames())
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if d.Strategy, err = s.strategy(f); err != nil {
			return cli.Usage(c, err)
		}
		d.Lambda = time.Duration(lambda * float64(time.Second))
		if n, known := filelimit.Files(); known && n < filesNeeded(d.Clients) {
			fmt.Fprintf(c.ErrOrStderr(), "This process may open %d files, and --clients %d need up to %d, for a connection each; what finds none counts as an error. Raise it: ulimit -n %[3]d\n", n, d.Clients, filesNeeded(d.Clients))
		}
		o.Stdout = c.OutOrStdout()
		ctx, cancel := bounded(c.Context(), most)
		defer cancel()
		return client.Run(ctx, d, o)
	}
	return c
}

// filesNeeded is how many files so many clients can need: a connection each, as
// many again that are still being made for requests that found another one, and
// a few of the program's own.
func filesNeeded(clients int) uint64 { return 2*uint64(clients) + 20 }

// requestURL is what can be asked for over HTTP.
func requestURL(to *string) *value.Value[string] {
	return value.Text(to, "URL", "a URL like http://127.0.0.1:8070/api", func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	})
}
