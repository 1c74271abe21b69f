// Package s3 uploads the same objects to an S3 store, once per strategy, and measures the
// cost of each strategy.
package s3

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
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
	// The store serves Slots requests at a time. Each takes Service * (1 ± Jitter), evenly
	// spread; Jitter is from 0 to 1.
	Slots   int
	Service time.Duration
	Jitter  float64
	// Factor is what Tahoe and Reno keep of the window at a cut.
	Factor float64
	// Only are the strategies to run, of Strategies, in this order.
	Only []string
	// Limit is the longest time for one strategy.
	Limit time.Duration
}

// Optimum is the least time for n objects: all slots are busy from the first moment to the
// last with service time alone, without transfer.
func (c Config) Optimum(objects int) time.Duration {
	if objects == 0 {
		return 0
	}
	all := time.Duration(float64(objects) / float64(c.Slots) * float64(c.Service))
	return max(all, c.Service)
}

// Run uploads the objects once per strategy, each time to an empty store, and yields the
// results. It ends with the first error. If ctx ends, the strategy that runs is stopped and
// yielded as interrupted, and is the last.
func Run(ctx context.Context, c Config, w measure.Watcher) iter.Seq2[measure.Result, error] {
	return measure.Each(ctx, c.Only, func(name string) (measure.Result, error) {
		s, err := open(c)
		if err != nil {
			return measure.Result{}, err
		}
		defer s.close()
		return c.run(ctx, s, name, w)
	})
}

// run uploads all objects with one strategy, and checks the objects in the store.
func (c Config) run(ctx context.Context, to *store, name string, w measure.Watcher) (measure.Result, error) {
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: &to.URL,
		Credentials: credentials.NewStaticCredentialsProvider("demo", "demo", ""), // the SDK needs some
	}
	set, err := setUp(name, c.Factor, &config)
	if err != nil {
		return measure.Result{}, err
	}
	defer set.Close()
	m := measure.NewMeter(c.Objects, set.Limiter)
	metered, closeIdle := m.Client(c.Goroutines)
	defer closeIdle()
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.HTTPClient, o.UsePathStyle = metered, true })
	w.Begin(name, m)
	o := measure.Pool{Goroutines: c.Goroutines, Limit: c.Limit}.Run(ctx, m, func(ctx context.Context, i int) error {
		body := content(i, c.Size)
		return set.Retry(ctx, func(ctx context.Context) error {
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key(i)), Body: bytes.NewReader(body)})
			return err
		})
	})
	r := o.Judged(name, set.Factor, func(i int) bool { return to.holds(key(i), content(i, c.Size)) }, c.Optimum)
	r.Peak, _ = to.counts()
	w.End(r)
	return r, nil
}

func key(i int) string { return fmt.Sprintf("object-%07d", i) }

// content is the content of object i: the same for every strategy, and different for every
// object, so that a mix-up is seen.
func content(i int, size int64) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
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
