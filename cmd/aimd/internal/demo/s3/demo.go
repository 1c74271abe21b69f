// Package s3 uploads the same objects to an S3 store, once per strategy, and measures the
// cost of each strategy.
package s3

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/sim"
)

// Config describes the objects, the uploaders and the store.
type Config struct {
	// Objects of Size bytes each are uploaded from that number of Goroutines.
	Objects, Goroutines int
	Size                int64
	// Slots, Service and Jitter describe the store; see store.Config. With an Endpoint
	// they are only for the optimum. Slots is 0 if the limit is not known.
	Slots   int
	Service time.Duration
	Jitter  float64
	// Factor is what Tahoe and Reno keep of the window at a cut.
	Factor float64
	// Only are the strategies to run, of Strategies, in this order.
	Only []string
	// Limit is the longest time for one strategy.
	Limit time.Duration
	// Endpoint is the URL of a running S3 server; "": the store of the demo.
	Endpoint string
	// Bucket is one that exists at the endpoint; "": one of our own.
	Bucket string
}

// Optimum is the least time for n objects: all slots are busy from the first moment to the
// last with service time alone, without transfer. It is 0 if the store's limit is not known.
func (c Config) Optimum(objects int) time.Duration {
	if c.Slots == 0 || objects == 0 {
		return 0
	}
	all := time.Duration(float64(objects) / float64(c.Slots) * float64(c.Service))
	return max(all, c.Service)
}

// verifyTime bounds the check of the stored objects, also after an interruption.
const verifyTime = time.Minute

// Run uploads the objects once per strategy, each to an empty place of the
// store, and yields how it went. It ends with the first error. When ctx ends
// the strategy that runs is stopped, checked and yielded as interrupted, and
// is the last.
func Run(ctx context.Context, c Config, w measure.Watcher) iter.Seq2[measure.Result, error] {
	return func(yield func(measure.Result, error) bool) {
		site, err := c.site(ctx)
		if err != nil {
			yield(measure.Result{}, err)
			return
		}
		defer func() { warn(w, site.close()) }()
		for r, err := range measure.Each(ctx, c.Only, func(name string) (measure.Result, error) { return c.run(ctx, site, name, w) }) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// site is where objects can go: the store of the demo, or an endpoint.
type site interface {
	// open makes an empty place for one strategy.
	open(strategy string) (*place, error)
	close() error
}

func (c Config) site(ctx context.Context) (site, error) {
	if c.Endpoint == "" {
		return embedded{c}, nil
	}
	return connect(ctx, c.Endpoint, c.Bucket)
}

// run uploads all objects with one strategy and checks what the store has then.
func (c Config) run(ctx context.Context, at site, name string, w measure.Watcher) (measure.Result, error) {
	p, err := at.open(name)
	if err != nil {
		return measure.Result{}, err
	}
	defer func() { warn(w, p.clear()) }()
	config := p.config.Copy() // the place's own clients retry in another way
	set, err := setUp(name, c.Factor, &config)
	if err != nil {
		return measure.Result{}, err
	}
	defer set.Close()

	m := measure.NewMeter(c.Objects, set.Limiter)
	metered, closeIdle := m.Client(c.Goroutines)
	defer closeIdle()
	client := s3.NewFromConfig(config, pathStyle, func(o *s3.Options) { o.HTTPClient = metered })

	w.Begin(name, m)
	o := measure.Pool{Goroutines: c.Goroutines, Limit: c.Limit}.Run(ctx, m, func(ctx context.Context, i int) error {
		body := content(i, c.Size)
		return set.Retry(ctx, func(ctx context.Context) error { return p.put(ctx, client, i, body) })
	})
	peak := p.peak() // before the check adds to it

	verify, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTime)
	defer cancel()
	stored, err := p.stored(verify, c.Objects, c.Size)
	if err != nil {
		return measure.Result{}, fmt.Errorf("checking what the store has: %w", err)
	}
	r := o.Judged(name, set.Factor, func(i int) bool { return stored[i] }, c.Optimum)
	r.Peak = peak
	w.End(r)
	return r, nil
}

func warn(w measure.Watcher, err error) {
	if err != nil {
		w.Warn(err)
	}
}

// plain are the ways to deal with a store that says SlowDown without a limiter. The
// names are fixed, scripts know them.
var plain = []string{"sdk-default", "backoff", "sdk-adaptive"}

// Strategies are the names of all strategies: without a limiter, then with one of
// each law.
func Strategies() []string { return slices.Concat(plain, sim.Laws()) }

func setUp(name string, factor float64, config *aws.Config) (measure.Setup, error) {
	switch name {
	case "sdk-default": // what everybody starts with: 3 attempts, and a retry quota for the whole client
		config.Retryer = func() aws.Retryer { return retry.NewStandard() }
	case "sdk-adaptive": // the SDK's own answer to throttling, a token bucket on the client's side
		config.Retryer = func() aws.Retryer { return retry.NewAdaptiveMode() }
	case "backoff":
		config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	}
	set, err := measure.SetUp(name, factor)
	if set.Limiter != nil { // one call of contrib/aws on the config, and the client retries
		aimdaws.Limit(config, set.Limiter)
		set.Retry = measure.Once
	}
	return set, err
}
