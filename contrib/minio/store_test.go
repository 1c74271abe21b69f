package aimdminio_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	aimdminio "github.com/aimd-go/aimd/contrib/minio"
	"github.com/aimd-go/aimd/internal/fakes3"
	"github.com/aimd-go/aimd/limiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bucket = "bucket"

// store is an S3 server in memory.
type store struct {
	fakes3.Store
	backend gofakes3.Backend
}

func newStore(t *testing.T, slots int, service time.Duration, script fakes3.Script) *store {
	t.Helper()
	s := start(slots, service, script)
	t.Cleanup(s.Close)
	return s
}

func start(slots int, service time.Duration, script fakes3.Script) *store {
	s := &store{backend: s3mem.New()}
	// Not WithAutoBucket: of two first requests at a time the one may find no bucket.
	for _, name := range []string{bucket, "photos"} {
		if err := s.backend.CreateBucket(name); err != nil {
			panic(err) // a new backend has none
		}
	}
	s.Next = gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.Slots, s.Service, s.Script = slots, service, script
	s.StartInMemory()
	return s
}

// options are those of a client of the store, without a limiter.
func (s *store) options() *minio.Options {
	return &minio.Options{
		Creds: credentials.NewStaticV4("id", "secret", ""),
		// Else the client asks for the region of each bucket first.
		Region:       "us-east-1",
		BucketLookup: minio.BucketLookupPath,
		Transport:    s.transport(),
	}
}

// transport is minio-go's own, with connections to the store.
func (s *store) transport() *http.Transport {
	tr, err := minio.DefaultTransport(false)
	if err != nil {
		panic(err) // it reads no certificates here
	}
	tr.DialContext = s.Dial
	return tr
}

// endpoint is where the store listens, host and port.
func (s *store) endpoint() string { return strings.TrimPrefix(s.URL, "http://") }

// client is a client of the store under the limiter.
func (s *store) client(t *testing.T, l *limiter.Limiter, change ...func(*minio.Options)) *minio.Client {
	t.Helper()
	opts := s.options()
	for _, f := range change {
		f(opts)
	}
	if l != nil {
		require.NoError(t, aimdminio.Limit(opts, l))
	}
	c, err := minio.New(s.endpoint(), opts)
	require.NoError(t, err)
	if closer, ok := opts.Transport.(interface{ CloseIdleConnections() }); ok {
		t.Cleanup(closer.CloseIdleConnections)
	}
	return c
}

// content lists the store: keys and MD5 sums.
func (s *store) content(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.backend.ListBucket(bucket, nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	all := map[string]string{}
	for _, o := range list.Contents {
		all[o.Key] = strings.Trim(o.ETag, `"`)
	}
	return all
}

func sum(b string) string {
	h := md5.Sum([]byte(b))
	return hex.EncodeToString(h[:])
}

func newLimiter(t *testing.T, opts ...aimd.Option) *limiter.Limiter {
	t.Helper()
	l, err := aimd.NewReno(append([]aimd.Option{aimd.WithFactor(0.9)}, opts...)...)
	require.NoError(t, err)
	return l
}

func put(ctx context.Context, c *minio.Client, key, body string) error {
	_, err := c.PutObject(ctx, bucket, key, strings.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	return err
}

// upload puts objects of 1 KiB from 64 goroutines and returns what must be in the store then.
func upload(t *testing.T, objects int, put func(key, body string) error) map[string]string {
	t.Helper()
	want := map[string]string{}
	errs := make(chan error, objects)
	keys := make(chan [2]string)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for k := range keys {
				errs <- put(k[0], k[1])
			}
		})
	}
	for i := range objects {
		key := fmt.Sprintf("object-%03d", i)
		body := strings.Repeat(key+"\n", 1024/len(key))
		want[key] = sum(body)
		keys <- [2]string{key, body}
	}
	close(keys)
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	return want
}

// requireIdle checks that every permit was released, once.
func requireIdle(t *testing.T, l *limiter.Limiter) {
	t.Helper()
	s := l.Snapshot()
	require.Zero(t, s.InFlight, "in flight")
	require.Zero(t, s.Queued, "queued")
	require.Zero(t, s.Late, "second releases")
}
