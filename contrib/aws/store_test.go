package aimdaws_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/internal/fakes3"
	"github.com/aimd-go/aimd/limiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bucket   = "bucket"
	slowDown = fakes3.SlowDown
)

// store is an S3 server in memory, and the connections to it.
type store struct {
	fakes3.Store
	backend   gofakes3.Backend
	transport *http.Transport
}

func newStore(t *testing.T, change ...func(*store)) *store {
	t.Helper()
	s, stop := startStore(bucket, change...)
	t.Cleanup(stop)
	return s
}

func startStore(bucket string, change ...func(*store)) (*store, func()) {
	s := &store{backend: s3mem.New(), transport: newTransport()}
	if err := s.backend.CreateBucket(bucket); err != nil {
		panic(err) // a new backend has none
	}
	s.Next = gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	for _, f := range change {
		f(s)
	}
	s.StartInMemory()
	s.transport.DialContext = s.Dial
	return s, func() {
		s.transport.CloseIdleConnections()
		s.Close()
	}
}

// slots is a change of newStore.
func slots(n int, service time.Duration) func(*store) {
	return func(s *store) { s.Slots, s.Service = n, service }
}

// scripted is a change of newStore.
func scripted(script fakes3.Script) func(*store) {
	return func(s *store) { s.Script = script }
}

// once scripts the first request only.
func once(answer http.HandlerFunc) func(*store) {
	return scripted(fakes3.First(func(*http.Request) bool { return true }, answer))
}

// hang holds a request until its client has gone, which a server sees only once it has read the body.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// put stores an object behind the gate's back.
func (s *store) put(key, body string) error {
	_, err := s.backend.PutObject(bucket, key, nil, strings.NewReader(body), int64(len(body)), nil)
	return err
}

// config is an AWS config for the store, without a limiter.
func (s *store) config() aws.Config {
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(s.URL),
		HTTPClient:   &http.Client{Transport: s.transport},
		Credentials:  aws.CredentialsProviderFunc(fixedCredentials),
	}
}

func fixedCredentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
}

// client is a client of the store under the limiter.
func (s *store) client(l *limiter.Limiter, change ...func(*aws.Config)) *s3.Client {
	cfg := s.config()
	aimdaws.Limit(&cfg, l)
	for _, f := range change {
		f(&cfg)
	}
	return pathStyle(cfg)
}

func pathStyle(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
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

// oneSlot is a limiter whose window is one attempt and stays so.
func oneSlot(t *testing.T, opts ...aimd.Option) *limiter.Limiter {
	t.Helper()
	return newLimiter(t, append([]aimd.Option{aimd.WithMaxWindow(1), aimd.WithInitialWindow(1)}, opts...)...)
}

func put(ctx context.Context, c *s3.Client, key, body string) error {
	_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: strings.NewReader(body)})
	return err
}

func get(ctx context.Context, c *s3.Client, key string) (*s3.GetObjectOutput, error) {
	return c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
}

// settled waits until all goroutines wait, and asserts the state of the limiter.
func settled(t *testing.T, l *limiter.Limiter, want func(limiter.Snapshot) bool) {
	t.Helper()
	synctest.Wait()
	require.True(t, want(l.Snapshot()), "the limiter stands at %v", l.Snapshot())
}

func queued(n int) func(limiter.Snapshot) bool {
	return func(s limiter.Snapshot) bool { return s.Queued == n }
}

// outcomes is what a test expects of a limiter in the end.
type outcomes struct{ successes, overloads, timeouts, neutrals, clientErrors uint64 }

// requireOutcomes checks that every permit was released, once, and with what.
func requireOutcomes(t *testing.T, l *limiter.Limiter, want outcomes) {
	t.Helper()
	s := l.Snapshot()
	require.Equal(t, want, outcomes{s.Successes, s.Overloads, s.Timeouts, s.Neutrals, s.ClientErrors})
	requireIdle(t, l)
}

func requireIdle(t *testing.T, l *limiter.Limiter) {
	t.Helper()
	s := l.Snapshot()
	require.Zero(t, s.InFlight, "in flight")
	require.Zero(t, s.Queued, "queued")
	require.Zero(t, s.Late, "second releases")
}

func newTransport() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: 128} }
