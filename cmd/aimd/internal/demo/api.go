package demo

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/api"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const demoAPILong = `Demo api sends the same requests from a worker pool to an HTTP API that serves
only so many per second, once per strategy, and shows what each of them costs.
The API is embedded: a token bucket that answers 429 with Retry-After where it
has no token.

Strategies:
  plain         the pool sends each request once
  backoff       each request retries by itself for as long as it takes:
                full-jitter exponential backoff, 100 ms doubling to 20 s
  probe, tahoe, reno
                each request goes through Do of a limiter of this library;
                probe is the law of aimd.New, which needs no factor

Columns:
  time          from the first request's begin to the last one's end
  × optimum     time over the least that it could be: (requests - burst) /
                rate, and one service time; – where work was lost
  attempts      requests sent, per request wanted
  refused       requests answered with 429
  lost          requests that the API never served, by its own record
  p99           99 of 100 requests that succeeded took at most so long, from
                the moment when a worker picked the request up, with all waits
                and retries`

const demoAPIExample = `  aimd demo api                              # about a minute
  aimd demo api --quick                      # a few seconds per strategy
  aimd demo api --only plain,probe --json
  aimd demo api --live                       # watch the windows at work
  aimd demo api --rate 50 --workers 200`

const p99Requests = "p99: 99 of 100 requests that succeeded took at most so long, from the moment when a worker picked the request up, with all waits and retries."

func apiCommand() *cobra.Command {
	d := api.Config{
		Requests: 1000, Goroutines: 64,
		Limits: api.Limits{Rate: 100, Burst: 20, Service: 200 * time.Millisecond, RetryAfter: time.Second},
		Factor: 0.9, Only: api.Strategies(),
	}
	var o output
	quick := false
	c := &cobra.Command{
		Use: "api", Short: "Send requests to an API that says 429, once per strategy",
		Long: demoAPILong, Example: demoAPIExample, Args: cli.NoArgs,
	}
	f, l := cli.Flags(c), &d.Limits
	f.Var(value.Whole(&d.Requests, 1, 1_000_000), "requests", "how many requests to send")
	f.Var(value.Whole(&d.Goroutines, 1, 10_000), "workers", "how many workers send at a time")
	f.Var(value.Decimal(&l.Rate, 0.1, 100_000), "rate", "how many requests the API serves per second")
	f.Var(value.Whole(&l.Burst, 1, 100_000), "burst", "how many it serves at once after a rest")
	f.Var(value.Duration(&l.Service, time.Millisecond, time.Minute), "service", "how long it takes for each")
	f.Var(value.Duration(&l.RetryAfter, time.Second, time.Hour), "retry-after", "what a refusal says, in whole seconds")
	race(f, &d.Factor, &d.Only, api.Strategies())
	f.BoolVar(&quick, "quick", false, "a run of a few seconds per strategy: 300 requests; flags given beside it still count")
	limitFlag(f, &d.Limit)
	o.flags(f, "aimd-demo-api.html")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if quick && !f.Changed("requests") {
			d.Requests = 300
		}
		if err := value.CheckFactor(f.Changed("factor"), "--only", d.Only...); err != nil {
			return cli.Usage(c, err)
		}
		d.Limit = limitOf(d.Limit, d.Optimum(d.Requests))
		return o.show(c, apiReport(d), func(ctx context.Context, w measure.Watcher) iter.Seq2[measure.Result, error] {
			return api.Run(ctx, d, w)
		})
	}
	return c
}

func apiReport(d api.Config) Report {
	a := d.Limits
	return Report{
		Title: fmt.Sprintf("%d requests from a pool of %d workers", d.Requests, d.Goroutines),
		Service: fmt.Sprintf("The API serves %g requests per second, %d at once after a rest, %v each, and refuses more with 429 and Retry-After: %g.",
			a.Rate, a.Burst, a.Service, a.RetryAfter.Seconds()),
		Optimum: fmt.Sprintf("The optimum is %.2f s = (%d requests - burst of %d) / %g per second + %v.",
			d.Optimum(d.Requests).Seconds(), d.Requests, a.Burst, a.Rate, a.Service),
		Operation: "request", Operations: "requests", Done: "done", P99: p99Requests,
		Alone: map[string]string{"plain": "the pool alone", "backoff": "backoff"},
		Span:  max(250*time.Millisecond, 5*a.Service),
		Slots: a.Rate * a.Service.Seconds(), PerSecond: a.Rate,
	}
}
