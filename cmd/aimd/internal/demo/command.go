// Package demo shows what a limiter is worth: the same work with several strategies,
// against a service that refuses what is too much.
package demo

import (
	"context"
	"embed"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/api"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/s3"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

//go:embed help
var help embed.FS

const p99Objects = "p99: 99 of 100 stored objects took at most this time, from the moment when a goroutine took the object until its upload call returned, with all waits and retries."

// memoryMost bounds what the embedded store holds, in bytes.
const memoryMost = 4 << 30

// Command is aimd demo, with aimd demo api below it.
func Command() *cobra.Command {
	d := s3.Config{
		Objects: 2000, Size: 64 << 10, Goroutines: 256,
		Slots: 32, Service: 100 * time.Millisecond, Jitter: 0.2,
		Factor: 0.9, Only: s3.Strategies(),
	}
	var o output
	quick := false
	c := cli.Help(help, &cobra.Command{
		Use: "demo", Short: "Upload objects to a store that says SlowDown, once per strategy", Args: cli.NoArgs,
	})
	demoFlags(c, &d, &quick)
	o.flags(c.Flags(), "aimd-demo.html")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if quick {
			quicken(c, &d, o.live.Asked())
		}
		d.Only = o.order(d.Only, s3.Strategies())
		if err := checkDemo(c, &d); err != nil {
			return cli.Usage(c, err)
		}
		return o.show(c, demoReport(d), func(ctx context.Context, w measure.Watcher) iter.Seq2[measure.Result, error] {
			return s3.Run(ctx, d, w)
		})
	}
	c.AddCommand(apiCommand())
	return c
}

func demoFlags(c *cobra.Command, d *s3.Config, quick *bool) {
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Objects, 1, 1_000_000), "objects", "how many objects to upload")
	f.Var(value.Size(&d.Size, 1, 1<<30), "size", "size of each object")
	f.Var(value.Whole(&d.Goroutines, 1, 10_000), "goroutines", "how many goroutines upload at a time")
	f.Var(value.Whole(&d.Slots, 1, 10_000), "slots", "how many requests the store serves at a time")
	f.Var(value.Duration(&d.Service, time.Millisecond, time.Minute), "service", "how long the store takes for each, on average")
	f.Var(value.Decimal(&d.Jitter, 0, 1), "jitter", "spread of that: 0.2 is ±20%")
	race(f, &d.Factor, &d.Only, s3.Strategies())
	f.BoolVar(quick, "quick", false, "a short run, with an optimum of 1.6 s: 1000 objects of 16KiB, 50ms each, and no sdk-adaptive, which takes long; other flags still count")
	limitFlag(f, &d.Limit)
}

// quicken makes the run a short one. Its optimum stays above a second, since a run that
// is shorter measures how a strategy starts.
func quicken(c *cobra.Command, d *s3.Config, seen bool) {
	objects, service := 1000, 50*time.Millisecond
	if seen {
		objects, service = 800, d.Service
	}
	for name, set := range map[string]func(){
		"objects": func() { d.Objects = objects },
		"size":    func() { d.Size = 16 << 10 },
		"service": func() { d.Service = service },
		"only": func() {
			d.Only = slices.DeleteFunc(s3.Strategies(), func(s string) bool { return s == "sdk-adaptive" })
		},
	} {
		if !c.Flags().Changed(name) {
			set()
		}
	}
}

// checkDemo checks the flags that depend on others.
func checkDemo(c *cobra.Command, d *s3.Config) error {
	if err := value.CheckFactor(c.Flags().Changed("factor"), "--only", d.Only...); err != nil {
		return err
	}
	if total := int64(d.Objects) * d.Size; total > memoryMost {
		return fmt.Errorf("--objects %d of --size %s: %d MiB are too much for a store in memory, want at most %d MiB",
			d.Objects, value.ShowSize(d.Size), total>>20, memoryMost>>20)
	}
	d.Limit = limitOf(d.Limit, d.Optimum(d.Objects))
	return nil
}

func demoReport(d s3.Config) Report {
	return Report{
		Title:   fmt.Sprintf("%d objects of %s, uploaded from %d goroutines", d.Objects, value.ShowSize(d.Size), d.Goroutines),
		Service: fmt.Sprintf("The store serves %d requests at a time, %v ±%g%% each, and refuses more with 503 SlowDown.", d.Slots, d.Service, 100*d.Jitter),
		Optimum: fmt.Sprintf("The optimum is %.2f s = %d objects / %d slots × %v, the service time alone: transfer is left out.",
			d.Optimum(d.Objects).Seconds(), d.Objects, d.Slots, d.Service),
		Operation: "object", Operations: "objects", Done: "stored", P99: p99Objects,
		Alone: map[string]string{"sdk-default": "the SDK alone", "backoff": "backoff", "sdk-adaptive": "the SDK's adaptive mode"},
		Span:  max(250*time.Millisecond, 5*d.Service),
		Slots: float64(d.Slots), PerSecond: float64(d.Slots) / d.Service.Seconds(),
	}
}

const p99Requests = "p99: 99 of 100 requests that succeeded took at most this time, from the moment when a worker took the request, with all waits and retries."

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
	f.Var(value.Duration(&l.RetryAfter, time.Second, time.Hour), "retry-after", "the Retry-After of a refusal, in whole seconds")
	race(f, &d.Factor, &d.Only, api.Strategies())
	f.BoolVar(&quick, "quick", false, "a run of a few seconds per strategy: 300 requests; flags given beside it still count")
	limitFlag(f, &d.Limit)
	o.flags(f, "aimd-demo-api.html")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if quick && !f.Changed("requests") {
			d.Requests = 300
		}
		d.Only = o.order(d.Only, api.Strategies())
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
