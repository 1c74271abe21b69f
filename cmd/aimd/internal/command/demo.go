package command

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo"
	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/report"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const demoLong = `Demo uploads the same objects with the AWS SDK to an S3 store that serves only so
many requests at a time, once per strategy, and shows what each of them costs.
The store is embedded: nothing needs to be installed, nothing leaves this machine.
It refuses more than its slots with 503 SlowDown, as S3 does.

Strategies:
  sdk-default   the SDK as it comes: 3 attempts, and a retry quota
  backoff       each upload retries by itself for as long as it takes: full-jitter
                exponential backoff, 100 ms doubling to 20 s
  sdk-adaptive  the SDK's adaptive retry mode, with its 3 attempts
  tahoe, reno   the SDK with a limiter of this library, one call on its config

Columns:
  time          from the first upload's begin to the last one's end
  × optimum     time over the least that it could be: objects / slots × service
                time, transfer left out
  attempts      requests sent, per object
  refused       requests answered with 503 or 429
  lost          objects that are not in the store afterwards with the right content:
                the store is listed and checksums are compared, whatever the
                client was told
  p99           99 of 100 stored objects took at most so long, from the moment when
                a goroutine picked the object up until its upload call returned,
                with all waits and retries

Ctrl-C ends it with the table of what is known so far, and status 130. The
interrupted row counts the objects that had come to an end ("interrupted": true
in --json).`

const demoExample = `  aimd demo                                  # about a minute
  aimd demo --quick                          # some ten seconds
  aimd demo --quick --only tahoe,reno        # two seconds
  aimd demo --only reno --factor 0.5         # how a deeper cut does
  aimd demo --slots 8 --goroutines 64        # a smaller store
  aimd demo --json | jq -c '[.strategy, .makespan_s, .lost]'
  aimd demo --figures figures                # curves for a document

  # a server of your own; what it holds is left alone
  AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... \
    aimd demo --endpoint http://127.0.0.1:9000 --slots 32 --service 100ms`

const p99Objects = "p99: 99 of 100 stored objects took at most so long, from the moment when a goroutine picked the object up until its upload call returned, with all waits and retries."

// memoryMost bounds what the embedded store holds, in bytes.
const memoryMost = 4 << 30

func demoCommand() *cobra.Command {
	d := demo.Config{
		Objects: 2000, Size: 64 << 10, Goroutines: 256,
		Slots: 32, Service: 100 * time.Millisecond, Jitter: 0.2,
		Factor: 0.9, Only: demo.Strategies(),
	}
	var o output
	quick := false
	c := &cobra.Command{
		Use: "demo", Short: "Upload objects to a store that says SlowDown, once per strategy",
		Long: demoLong, Example: demoExample, Args: noArgs,
	}
	f := c.Flags()
	f.SortFlags = false
	f.Var(value.Whole(&d.Objects, 1, 1_000_000), "objects", "how many objects to upload")
	f.Var(value.Size(&d.Size, 1, 1<<30), "size", "size of each object")
	f.Var(value.Whole(&d.Goroutines, 1, 10_000), "goroutines", "how many goroutines upload at a time")
	f.Var(value.Whole(&d.Slots, 1, 10_000), "slots", "how many requests the store serves at a time")
	f.Var(value.Duration(&d.Service, time.Millisecond, time.Minute), "service", "how long the store takes for each, on average")
	f.Var(value.Decimal(&d.Jitter, 0, 1), "jitter", "spread of that: 0.2 is ±20%")
	f.Var(value.Factor(&d.Factor), "factor", "what tahoe and reno keep of the window at a cut")
	f.Var(value.Names(&d.Only, demo.Strategies()), "only", "which strategies to run")
	f.BoolVar(&quick, "quick", false, "a run of a few seconds, most of it the SDK's own waits: 400 objects of 16KiB, 25ms each; flags given beside it still count")
	f.Var(value.Duration(&d.Limit, 0, 24*time.Hour), "limit", "longest time for one strategy, what is not done by then is lost; 0s: ten times the optimum, 1m at the least")
	f.Var(value.Endpoint(&d.Endpoint), "endpoint", "use a running S3 server, credentials from the usual AWS environment; --slots and --service then only say what the optimum is computed from")
	f.Var(value.Bucket(&d.Bucket), "bucket", "with --endpoint: a bucket that exists; without it, aimd-demo is made and removed again")
	o.flags(f, "aimd-demo.html")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if quick {
			quicken(c, &d)
		}
		if err := checkDemo(c, &d); err != nil {
			return usageError{err, c.CommandPath()}
		}
		if err := o.check(c); err != nil {
			return err
		}
		return o.show(c, demoReport(c, d), func(ctx context.Context, w measure.Watcher) iter.Seq2[measure.Result, error] {
			return demo.Run(ctx, d, w)
		})
	}
	c.AddCommand(demoAPICommand())
	return c
}

// quicken makes the run short, but for what was asked for.
func quicken(c *cobra.Command, d *demo.Config) {
	for name, set := range map[string]func(){
		"objects": func() { d.Objects = 400 },
		"size":    func() { d.Size = 16 << 10 },
		"service": func() { d.Service = 25 * time.Millisecond },
	} {
		if !c.Flags().Changed(name) {
			set()
		}
	}
}

// checkDemo checks what no flag can know by itself, and settles what depends on
// several.
func checkDemo(c *cobra.Command, d *demo.Config) error {
	f := c.Flags()
	if d.Endpoint == "" {
		if d.Bucket != "" {
			return fmt.Errorf("--bucket %s: goes only with --endpoint; the embedded store has its own", d.Bucket)
		}
		if total := int64(d.Objects) * d.Size; total > memoryMost {
			return fmt.Errorf("--objects %d of --size %s: %d MiB are too much for a store in memory, want %d MiB at the most; or use --endpoint",
				d.Objects, value.ShowSize(d.Size), total>>20, memoryMost>>20)
		}
	} else {
		if f.Changed("jitter") {
			return errors.New("--jitter: goes only without --endpoint; it sets the embedded store")
		}
		if f.Changed("slots") != f.Changed("service") {
			return errors.New("--slots and --service: with --endpoint want both or neither; they are what the optimum is computed from")
		}
		if !f.Changed("slots") {
			d.Slots = 0 // not known
		}
	}
	if d.Limit == 0 {
		d.Limit = max(time.Minute, 10*d.Optimum(d.Objects))
	}
	return nil
}

func demoReport(c *cobra.Command, d demo.Config) report.Report {
	r := report.Report{
		Title:     fmt.Sprintf("%d objects of %s, uploaded from %d goroutines", d.Objects, value.ShowSize(d.Size), d.Goroutines),
		Operation: "object", Operations: "objects", Done: "stored", P99: p99Objects,
		Command: line(c), Span: max(250*time.Millisecond, 5*d.Service),
	}
	if d.Endpoint == "" {
		r.Service = fmt.Sprintf("The store serves %d requests at a time, %v ±%g%% each, and refuses more with 503 SlowDown.", d.Slots, d.Service, 100*d.Jitter)
	} else {
		r.Service = fmt.Sprintf("The store is the S3 server at %s.", d.Endpoint)
	}
	if d.Slots == 0 {
		r.Optimum = "The optimum is not known; tell --slots and --service to have it computed."
		return r
	}
	r.Slots, r.PerSecond = float64(d.Slots), float64(d.Slots)/d.Service.Seconds()
	r.Optimum = fmt.Sprintf("The optimum is %.2f s = %d objects / %d slots × %v, the service time alone: transfer is left out.",
		d.Optimum(d.Objects).Seconds(), d.Objects, d.Slots, d.Service)
	return r
}
