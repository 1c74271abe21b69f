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

const p99Requests = "p99: 99 of 100 requests that succeeded took at most so long, from the moment when a worker picked the request up, with all waits and retries."

func apiCommand() *cobra.Command {
	d := api.Config{
		Requests: 1000, Goroutines: 64,
		Limits: api.Limits{Rate: 100, Burst: 20, Service: 200 * time.Millisecond, RetryAfter: time.Second},
		Factor: 0.9, Only: api.Strategies(),
	}
	var o output
	quick := false
	c := cli.Help(help, &cobra.Command{
		Use: "api", Short: "Send requests to an API that says 429, once per strategy", Args: cli.NoArgs,
	})
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
