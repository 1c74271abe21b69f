package awslimit_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bucket   = "bucket"
	slowDown = s3test.SlowDown
)

// store is an S3 server in memory, and the connections to it.
type store struct {
	s3test.Store
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
	s.InMemory = true
	s.Start()
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
func scripted(script func(http.ResponseWriter, *http.Request) bool) func(*store) {
	return func(s *store) { s.Script = script }
}

// once scripts the first request only.
func once(answer http.HandlerFunc) func(*store) {
	var asked atomic.Bool
	return scripted(func(w http.ResponseWriter, r *http.Request) bool {
		first := !asked.Swap(true)
		if first {
			answer(w, r)
		}
		return first
	})
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
func (s *store) client(l *aimd.Limiter, change ...func(*aws.Config)) *s3.Client {
	cfg := s.config()
	awslimit.Limit(&cfg, l)
	for _, f := range change {
		f(&cfg)
	}
	return pathStyle(cfg)
}

func pathStyle(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
}

// oneSlot is a limiter whose window is one attempt and stays so.
func oneSlot(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	config.MaxWindow, config.InitialWindow = 1, 1
	return attempttest.Reno(t, config)
}

func put(ctx context.Context, c *s3.Client, key, body string) error {
	_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: strings.NewReader(body)})
	return err
}

func get(ctx context.Context, c *s3.Client, key string) (*s3.GetObjectOutput, error) {
	return c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
}

// settled waits until all goroutines wait, and asserts the state of the limiter.
func settled(t *testing.T, l *aimd.Limiter, want func(aimd.Snapshot) bool) {
	t.Helper()
	synctest.Wait()
	require.True(t, want(l.Snapshot()), "the limiter stands at %v", l.Snapshot())
}

func queued(n int) func(aimd.Snapshot) bool {
	return func(s aimd.Snapshot) bool { return s.Queued == n }
}

// outcomes is what a test expects of a limiter in the end.
type outcomes struct{ successes, overloads, timeouts, neutrals, clientErrors uint64 }

// requireOutcomes checks that every permit was released, once, and with what.
func requireOutcomes(t *testing.T, l *aimd.Limiter, want outcomes) {
	t.Helper()
	s := l.Snapshot()
	require.Equal(t, want, outcomes{s.Successes, s.Overloads, s.Timeouts, s.Neutrals, s.ClientErrors})
	attempttest.Idle(t, l)
}

func newTransport() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: 128} }

// deletion is an operation with a body in its answer.
var deletion = &s3.DeleteObjectsInput{
	Bucket: aws.String(bucket),
	Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("k")}}},
}

func TestAnswers(t *testing.T) {
	status := func(status int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			s3test.Answer(w, r, status, body)
		}
	}
	const html = "<html><body>503 Service Temporarily Unavailable</body></html>"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   outcomes
		// code is that of the final error, empty if the second attempt succeeds. waits: it comes after the
		// limiter's backoff or the Retry-After, not at once.
		code  string
		waits bool
	}{
		"SlowDown":                   {answer: s3test.Refuse, want: outcomes{successes: 1, overloads: 1}},
		"503 of a proxy":             {answer: status(503, html), want: outcomes{successes: 1, overloads: 1}},
		"429 with a code":            {answer: status(429, strings.ReplaceAll(slowDown, "SlowDown", "TooManyRequests")), want: outcomes{successes: 1, overloads: 1}},
		"429 with Retry-After in ms": {answer: status(429, html, "X-Amz-Retry-After", "20"), want: outcomes{successes: 1, overloads: 1}, waits: true},
		"403 with Retry-After":       {answer: status(403, html, "X-Amz-Retry-After", "20"), want: outcomes{successes: 1, overloads: 1}, waits: true},
		"SlowDown inside a 200":      {answer: status(200, slowDown), want: outcomes{successes: 1, overloads: 1}},
		"RequestTimeout":             {answer: status(400, strings.ReplaceAll(slowDown, "SlowDown", "RequestTimeout")), want: outcomes{successes: 1, timeouts: 1}},
		"InternalError":              {answer: status(500, strings.ReplaceAll(slowDown, "SlowDown", "InternalError")), want: outcomes{successes: 1, neutrals: 1}, waits: true},
		"404 is a final answer":      {answer: status(404, strings.ReplaceAll(slowDown, "SlowDown", "NoSuchUpload")), want: outcomes{clientErrors: 1}, code: "NoSuchUpload"},
		"403 is a final answer":      {answer: status(403, strings.ReplaceAll(slowDown, "SlowDown", "AccessDenied")), want: outcomes{neutrals: 1}, code: "AccessDenied"},
		"400 that is no XML":         {answer: status(400, html), want: outcomes{neutrals: 1}, code: "BadRequest"},
	} {
		for _, retries2026 := range []string{"", "true"} {
			t.Run(name+", AWS_NEW_RETRIES_2026="+retries2026, func(t *testing.T) {
				t.Setenv("AWS_NEW_RETRIES_2026", retries2026)
				synctest.Test(t, func(t *testing.T) {
					s := newStore(t, once(c.answer))
					l := attempttest.Reno(t, aimd.Config{})
					start := time.Now()
					_, err := s.client(l).DeleteObjects(t.Context(), deletion)
					if c.code != "" {
						requireCode(t, err, c.code)
					} else {
						require.NoError(t, err)
						require.Equal(t, c.waits, time.Since(start) > 0, "%v", time.Since(start))
					}
					requests, _ := s.Counts()
					require.EqualValues(t, requests, l.Snapshot().Attempts)
					requireOutcomes(t, l, c.want)
				})
			})
		}
	}
}

// A wrong port is an error within 10 s. If the port has answered before, work waits.
func TestAWrongPort(t *testing.T) { synctest.Test(t, testAWrongPort) }

func testAWrongPort(t *testing.T) {
	s := newStore(t)
	start := time.Now()
	var away atomic.Bool
	dial := s.transport.DialContext
	s.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if away.Load() {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return dial(ctx, network, address)
	}
	away.Store(true)
	l := attempttest.Reno(t, aimd.Config{})
	err := put(t.Context(), s.client(l), "k", "x")
	require.ErrorIs(t, err, aimd.ErrNeverAnswered)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.ErrorContains(t, err, "the service has never answered")
	require.Equal(t, 10*time.Second, time.Since(start))

	away.Store(false)
	require.NoError(t, put(t.Context(), s.client(l), "k", "x"))
	s.transport.CloseIdleConnections()
	away.Store(true)
	time.AfterFunc(time.Hour, func() { away.Store(false) })
	require.NoError(t, put(t.Context(), s.client(l), "k", "x"))
	attempttest.Idle(t, l)
}

// resetting is a connection that the other side resets where it ends.
type resetting struct{ net.Conn }

func (c resetting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}

// A server that is no S3 is an error too, although the SDK would retry for ever: an HTTPS server
// asked over HTTP, whose answer breaks off, and a server of something else.
func TestAWrongServer(t *testing.T) {
	for name, says := range map[string]string{
		"400 that breaks off": "HTTP/1.0 400 Bad Request\r\nContent-Length: 100\r\n\r\nClient sent an HTTP request",
		"malformed HTTP":      "SSH-2.0-OpenSSH_9.6\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, scripted(func(w http.ResponseWriter, _ *http.Request) bool {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err == nil {
						_, _ = conn.Write([]byte(says))
						_ = conn.Close()
					}
					return true
				}))
				dial := s.transport.DialContext
				s.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := dial(ctx, network, address)
					return resetting{conn}, err
				}
				l := attempttest.Reno(t, aimd.Config{})
				start := time.Now()
				require.Error(t, put(t.Context(), s.client(l), "k", "x"))
				require.LessOrEqual(t, time.Since(start), 10*time.Second)
				requests, _ := s.Counts()
				require.EqualValues(t, 3, requests)
				attempttest.Idle(t, l)
			})
		})
	}
}
