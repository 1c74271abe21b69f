package aimdaws_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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
	"github.com/aimd-go/aimd/internal/pipenet"
	"github.com/aimd-go/aimd/limiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bucket = "bucket"

// slowDown is the refusal of S3.
const slowDown = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>1</RequestId></Error>`

// store is an S3 server in memory, behind a gate that refuses what is too much.
type store struct {
	*httptest.Server
	backend gofakes3.Backend
	next    http.Handler

	// slots is how many requests it takes at a time (0: any number), and
	// service how long it takes for each.
	slots   int
	service time.Duration
	// script answers a request in the store's place if it returns true; nil: never.
	script func(http.ResponseWriter, *http.Request) bool

	mu                     sync.Mutex
	requests, refused      int
	inFlight, mostInFlight int
	paths                  []string
	transport              *http.Transport
}

func newStore(t *testing.T, change ...func(*store)) *store {
	t.Helper()
	s := &store{backend: s3mem.New()}
	require.NoError(t, s.backend.CreateBucket(bucket))
	s.next = gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	for _, f := range change {
		f(s)
	}
	l := pipenet.Listen()
	s.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}}
	s.Start()
	s.transport = newTransport()
	s.transport.DialContext = l.DialContext
	t.Cleanup(func() {
		s.transport.CloseIdleConnections()
		s.Close()
	})
	return s
}

// scripted is a change of newStore.
func scripted(script func(http.ResponseWriter, *http.Request) bool) func(*store) {
	return func(s *store) { s.script = script }
}

// once scripts the first request only.
func once(answer http.HandlerFunc) func(*store) {
	var first sync.Once
	return scripted(func(w http.ResponseWriter, r *http.Request) (answered bool) {
		first.Do(func() {
			answer(w, r)
			answered = true
		})
		return answered
	})
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	s.paths = append(s.paths, r.URL.Path)
	full := s.slots > 0 && s.inFlight >= s.slots
	if full {
		s.refused++
	} else {
		s.inFlight++
		s.mostInFlight = max(s.mostInFlight, s.inFlight)
	}
	s.mu.Unlock()
	if full {
		refuse(w, r)
		return
	}
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	if s.script != nil && s.script(w, r) {
		return
	}
	time.Sleep(s.service)
	s.next.ServeHTTP(w, r)
}

// refuse answers SlowDown, and reads the body first: a server that does not may
// reset the connection before the client has seen the answer.
func refuse(w http.ResponseWriter, r *http.Request) {
	answer(w, r, http.StatusServiceUnavailable, slowDown)
}

func answer(w http.ResponseWriter, r *http.Request, status int, body string) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// hang holds a request until its client has gone, which a server sees only once
// it has read the body.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// counts is how many requests came, and how many of them the gate refused.
func (s *store) counts() (requests, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.refused
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

// settled waits until nothing goes on but time, and asserts that the limiter
// stands as asked then.
func settled(t *testing.T, l *limiter.Limiter, want func(limiter.Snapshot) bool) {
	t.Helper()
	synctest.Wait()
	require.True(t, want(l.Snapshot()), "the limiter stands at %v", l.Snapshot())
}

func queued(n int) func(limiter.Snapshot) bool {
	return func(s limiter.Snapshot) bool { return s.Queued == n }
}

// outcomes is what a test expects of a limiter in the end.
type outcomes struct{ successes, overloads, timeouts, neutrals uint64 }

// requireOutcomes checks that every permit was released, once, and with what.
func requireOutcomes(t *testing.T, l *limiter.Limiter, want outcomes) {
	t.Helper()
	s := l.Snapshot()
	require.Equal(t, want, outcomes{s.Successes, s.Overloads, s.Timeouts, s.Neutrals})
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
