package demo

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/internal/s3test"
	"github.com/aimd-go/aimd/internal/sim"
)

// uploads is the work of aimd demo: objects for an S3 store with the objects in memory.
type uploads struct {
	race.Race
	size int64
	// The store serves slots requests at a time. Each takes service * (1 ± jitter), evenly spread.
	slots   int
	service time.Duration
	jitter  float64
}

const (
	bucket = "aimd-demo"
	// memoryMost bounds what the store holds, in bytes.
	memoryMost = 4 << 30
)

func newUploads() *uploads {
	return &uploads{
		Race: race.Race{Operations: 2000, Goroutines: 256, Factor: 0.9, Rivals: []string{"sdk-default", "backoff-v5", "backoff-1s", "backoff", "sdk-adaptive"}},
		size: 64 << 10, slots: 32, service: 100 * time.Millisecond, jitter: 0.2,
	}
}

func (u *uploads) race() *race.Race { return &u.Race }

func (u *uploads) flags(f *pflag.FlagSet) (quick map[string]string) {
	f.Var(value.Whole(&u.Operations, 1, 1_000_000), "objects", "how many objects to upload")
	f.Var(value.Size(&u.size, 1, 1<<30), "size", "size of each object")
	f.Var(value.Whole(&u.Goroutines, 1, 10_000), "goroutines", "how many goroutines upload at a time")
	f.Var(value.Whole(&u.slots, 1, 10_000), "slots", "how many requests the store serves at a time")
	f.Var(value.Duration(&u.service, time.Millisecond, time.Minute), "service", "how long the store takes for each, on average")
	f.Var(value.Decimal(&u.jitter, 0, 1), "jitter", "spread of that: 0.2 is ±20%")
	// The optimum stays above a second, since a shorter run measures how a strategy starts. sdk-adaptive takes long.
	few := append([]string{"sdk-default", "backoff"}, sim.Laws()...)
	return map[string]string{"objects": "800", "size": "16KiB", "only": strings.Join(few, ",")}
}

func (u *uploads) report() (Report, error) {
	if total := int64(u.Operations) * u.size; total > memoryMost {
		return Report{}, fmt.Errorf("--objects %d of --size %s: %d MiB are too much for a store in memory, want at most %d MiB",
			u.Operations, value.ShowSize(u.size), total>>20, memoryMost>>20)
	}
	return Report{
		Title:   fmt.Sprintf("%d objects of %s, uploaded from %d goroutines", u.Operations, value.ShowSize(u.size), u.Goroutines),
		Service: fmt.Sprintf("The store serves %d requests at a time, %v ±%g%% each, and refuses more with 503 SlowDown.", u.slots, u.service, 100*u.jitter),
		Optimum: fmt.Sprintf("The optimum is %.2f s = %d objects / %d slots × %v, the service time alone: transfer is left out.",
			u.Optimum(u.Operations).Seconds(), u.Operations, u.slots, u.service),
		Operation: "object", Done: "stored",
	}, nil
}

// Optimum implements race.Work: all slots are always busy with service time alone, without transfer.
func (u *uploads) Optimum(objects int) time.Duration {
	return max(time.Duration(float64(objects)/float64(u.slots)*float64(u.service)), u.service)
}

// Start implements race.Work.
func (u *uploads) Start(s *race.Strategy, client *http.Client) (race.Service, error) {
	objects := s3mem.New()
	if err := objects.CreateBucket(bucket); err != nil {
		return race.Service{}, err
	}
	store := &s3test.Store{
		Slots: u.slots, Service: u.service,
		Jitter: func() time.Duration { return time.Duration(float64(u.service) * u.jitter * (2*rand.Float64() - 1)) },
		Next:   gofakes3.New(objects, gofakes3.WithLogger(gofakes3.DiscardLog())).Server(),
	}
	store.Start()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: &store.URL,
		Credentials: credentials.NewStaticCredentialsProvider("demo", "demo", ""), // the SDK needs some
	}
	switch s.Name { // sdk-default is what everybody starts with: 3 attempts, and a retry quota for the whole client
	case "sdk-adaptive": // the SDK's own answer to throttling, a token bucket on the client's side
		config.Retryer = func() aws.Retryer { return retry.NewAdaptiveMode() }
	case "backoff", "backoff-1s", "backoff-v5":
		config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	}
	if s.Limiter != nil { // one call of contrib/awslimit on the config, and the client retries
		awslimit.Limit(&config, s.Limiter)
		s.Do = race.Once
	}
	sdk := s3.NewFromConfig(config, func(o *s3.Options) { o.HTTPClient, o.UsePathStyle = client, true })
	return race.Service{
		Do: func(ctx context.Context, i int) error {
			body := bytes.NewReader(content(i, u.size))
			_, err := sdk.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key(i)), Body: body})
			return err
		},
		Has:  func(i int) bool { return holds(objects, key(i), content(i, u.size)) },
		Peak: store.Peak, Close: store.Stop,
	}, nil
}

// holds reports whether the store has that object with that content. It does not ask over HTTP.
func holds(objects gofakes3.Backend, key string, want []byte) bool {
	o, err := objects.GetObject(bucket, key, nil)
	if err != nil {
		return false
	}
	defer o.Contents.Close()
	got, err := io.ReadAll(o.Contents)
	return err == nil && bytes.Equal(got, want)
}

func key(i int) string { return fmt.Sprintf("object-%07d", i) }

// content is the content of object i: the same for every strategy, and different for every object.
func content(i int, size int64) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
}
