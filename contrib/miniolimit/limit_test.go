package miniolimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/contrib/miniolimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/s3test"
	"github.com/aimd-go/aimd/verdict"
)

func TestArgumentsThatAreNil(t *testing.T) {
	require.EqualError(t, miniolimit.Limit(nil, attempttest.Reno(t, aimd.Config{})), "miniolimit: options: nil is not allowed")
	require.EqualError(t, miniolimit.Limit(&minio.Options{}, nil), "miniolimit: limiter: nil is not allowed")
}

// Each part takes a slot of its own, and the window learns of the SlowDown in the 200 of
// CompleteMultipartUpload.
func TestMultipart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slowed atomic.Bool
		s := newStore(t, 2, 10*time.Millisecond, func(w http.ResponseWriter, r *http.Request) bool {
			first := r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && !slowed.Swap(true)
			if first {
				s3test.Answer(w, r, http.StatusOK, "\n \n"+s3test.SlowDown)
			}
			return first
		})
		l := attempttest.Reno(t, aimd.Config{InitialWindow: 6})
		c := s.client(t, l)
		content := make([]byte, 22<<20)
		_, _ = rand.NewChaCha8([32]byte{}).Read(content)

		_, err := c.PutObject(t.Context(), bucket, "big", bytes.NewReader(content), int64(len(content)),
			// This store does not undo the chunked signatures of parts.
			minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 8, DisableContentSha256: true})
		require.NoError(t, err)
		requests, refused := s.Counts()
		now := l.Snapshot()
		require.EqualValues(t, requests, now.Attempts)
		require.EqualValues(t, 7, now.Successes, "initiate, 5 parts, complete")
		require.EqualValues(t, refused+1, now.Overloads, "the SlowDown in the 200 is one")
		attempttest.Idle(t, l)

		got := read(t, c, "big")
		require.True(t, bytes.Equal(content, got), "what came down is what went up")
		attempttest.Idle(t, l)
	})
}

func read(t *testing.T, c *minio.Client, key string) []byte {
	t.Helper()
	o, err := c.GetObject(t.Context(), bucket, key, minio.GetObjectOptions{})
	require.NoError(t, err)
	b, err := io.ReadAll(o)
	require.NoError(t, err)
	require.NoError(t, o.Close())
	return b
}

// answering is a transport that answers with status 200 and that body.
type answering struct{ body io.Reader }

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(a.body), Request: req}, nil
}

// A 200 with an error inside has the status that the error means, if another try may help. Else it stays as it is,
// and the body does always.
func TestAnErrorInA200(t *testing.T) {
	code := func(code string) string { return "<Error><Code>" + code + "</Code></Error>" }
	send := func(method, url string, header http.Header, body io.Reader) (*http.Response, error) {
		opts := &minio.Options{Transport: answering{body}}
		require.NoError(t, miniolimit.Limit(opts, attempttest.Reno(t, aimd.Config{})))
		req, err := http.NewRequestWithContext(t.Context(), method, "http://store.example/bucket/key"+url, nil)
		require.NoError(t, err)
		req.Header = header
		return opts.Transport.RoundTrip(req)
	}
	copies := http.Header{"X-Amz-Copy-Source": {"/bucket/other"}}
	for _, c := range []struct {
		method, url string
		header      http.Header
		body        string
		want        string
	}{
		{"POST", "?uploadId=1", nil, "\n \n" + code("SlowDown"), "503 Service Unavailable"},
		{"POST", "?delete", nil, code("RequestTimeout"), "504 Gateway Timeout"},
		{"PUT", "", copies, code("InternalError"), "500 Internal Server Error"},
		{"PUT", "", copies, code("NoSuchKey"), "200 OK"},
		{"PUT", "", copies, "<CopyObjectResult/>", "200 OK"},
		{"PUT", "", nil, code("SlowDown"), "200 OK"},
		{"GET", "", nil, code("SlowDown"), "200 OK"},
		{"POST", "?select", nil, code("SlowDown"), "200 OK"},
	} {
		resp, err := send(c.method, c.url, c.header, strings.NewReader(c.body))
		require.NoError(t, err)
		require.Equal(t, c.want, resp.Status, "%+v", c)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, c.body, string(body))
	}
	_, err := send("POST", "?delete", nil, iotest.ErrReader(io.ErrUnexpectedEOF))
	require.EqualError(t, err, "miniolimit: reading an answer of status 200: unexpected EOF")
}

func TestLimitKeepsWhatIsSet(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{})
	opts := &minio.Options{MaxRetries: 3, Transport: http.DefaultTransport}
	require.NoError(t, miniolimit.Limit(opts, l))
	require.Equal(t, 3, opts.MaxRetries)
	require.NotEqual(t, http.DefaultTransport, opts.Transport)

	opts = &minio.Options{}
	require.NoError(t, miniolimit.Limit(opts, l))
	require.Equal(t, 36, opts.MaxRetries)
}

// A wrong port ends with the tries of minio-go, and the error has the reason.
func TestAWrongPort(t *testing.T) {
	for name, call := range map[string]func(context.Context, *minio.Client) error{
		"PutObject": func(ctx context.Context, c *minio.Client) error { return put(ctx, c, "k", "x") },
		"StatObject": func(ctx context.Context, c *minio.Client) error {
			_, err := c.StatObject(ctx, bucket, "k", minio.StatObjectOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, 8, 0, nil)
				l := attempttest.Reno(t, aimd.Config{})
				c := s.client(t, l, func(o *minio.Options) {
					tr := s.transport()
					tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
					}
					o.Transport = tr
				})
				start := time.Now()
				err := call(t.Context(), c)
				require.ErrorIs(t, err, aimd.ErrNeverAnswered)
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				require.Less(t, time.Since(start), 40*time.Second)
				attempttest.Idle(t, l)
			})
		})
	}
}

func TestClassify(t *testing.T) {
	overload := verdict.Verdict{Meaning: answer.Refused}
	again := verdict.Verdict{Meaning: answer.Passing}
	classify := verdict.FirstOf(miniolimit.Classify, verdict.Classify)
	for err, want := range map[error]verdict.Verdict{
		minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}:                                overload,
		minio.ErrorResponse{Code: "SlowDown", StatusCode: 200}:                                overload,
		minio.ErrorResponse{Code: "503 Service Unavailable", StatusCode: 503}:                 overload,
		fmt.Errorf("photo: %w", minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}):       overload,
		minio.ErrorResponse{Code: "Other", StatusCode: 499}:                                   again,
		minio.ErrorResponse{Code: "Other", StatusCode: 520}:                                   {Meaning: answer.Unclear},
		minio.ErrorResponse{Code: "NoSuchUpload", StatusCode: 200}:                            {Meaning: answer.Fault},
		&url.Error{Op: "Put", Err: errors.New("Connection closed by foreign host http://x.")}: again,
		errors.New("other"): {},
	} {
		require.Equal(t, want, classify(err), "%v", err)
	}
}

// A connection closed before the answer comes from minio-go as a text.
func TestHungUp(t *testing.T) {
	s := newStore(t, 0, 0, func(_ http.ResponseWriter, r *http.Request) bool {
		panic(http.ErrAbortHandler)
	})
	l := attempttest.Reno(t, aimd.Config{})
	err := put(t.Context(), s.client(t, l, func(o *minio.Options) { o.MaxRetries = 1 }), "a", "x")
	require.Error(t, err)
	require.Equal(t, verdict.Verdict{Meaning: answer.Passing}, miniolimit.Classify(err), "%v", err)
	require.EqualValues(t, 1, l.Snapshot().Neutrals)
	attempttest.Idle(t, l)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bucket = "bucket"

// store is an S3 server in memory.
type store struct {
	s3test.Store
	backend gofakes3.Backend
}

func newStore(t *testing.T, slots int, service time.Duration, script func(http.ResponseWriter, *http.Request) bool) *store {
	t.Helper()
	s := start(slots, service, script)
	t.Cleanup(s.Close)
	return s
}

func start(slots int, service time.Duration, script func(http.ResponseWriter, *http.Request) bool) *store {
	s := &store{backend: s3mem.New()}
	// Not WithAutoBucket: of two first requests at a time the one may find no bucket.
	for _, name := range []string{bucket, "photos"} {
		if err := s.backend.CreateBucket(name); err != nil {
			panic(err) // a new backend has none
		}
	}
	s.Next = gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.Slots, s.Service, s.Script = slots, service, script
	s.InMemory = true
	s.Start()
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
func (s *store) client(t *testing.T, l *aimd.Limiter, change ...func(*minio.Options)) *minio.Client {
	t.Helper()
	opts := s.options()
	for _, f := range change {
		f(opts)
	}
	if l != nil {
		require.NoError(t, miniolimit.Limit(opts, l))
	}
	c, err := minio.New(s.endpoint(), opts)
	require.NoError(t, err)
	if closer, ok := opts.Transport.(interface{ CloseIdleConnections() }); ok {
		t.Cleanup(closer.CloseIdleConnections)
	}
	return c
}

func put(ctx context.Context, c *minio.Client, key, body string) error {
	_, err := c.PutObject(ctx, bucket, key, strings.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	return err
}

func TestClass(t *testing.T) {
	for request, want := range map[string]string{
		"GET /photos/1.jpg": "read", "HEAD /photos/1.jpg": "read", "HEAD /photos": "read", "GET /photos/?location=": "read", "GET /photos/1.jpg?uploadId=1": "read",
		"GET /photos/?list-type=2&prefix=a": "list", "GET /photos/?versions=": "list", "GET /photos/?uploads=": "list", "GET /": "list",
		"DELETE /photos/1.jpg": "delete", "POST /photos/?delete=": "delete",
		"PUT /photos/1.jpg": "write", "POST /photos/1.jpg?uploads=": "write", "PUT /photos": "write",
	} {
		method, target, _ := strings.Cut(request, " ")
		require.Equal(t, want, miniolimit.Class(httptest.NewRequest(method, "http://store.example"+target, nil)), request)
	}
	require.EqualError(t, miniolimit.LimitBy(&minio.Options{}, nil), "miniolimit: of: nil is not allowed")
}

// A request ends its attempt in each way in which it may end.
func TestTheLifeOfARequest(t *testing.T) {
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send attempttest.Trip) error {
		opts := &minio.Options{Region: "us-east-1", Transport: send}
		require.NoError(t, miniolimit.Limit(opts, l))
		c, err := minio.New("store.example", opts)
		require.NoError(t, err)
		return put(ctx, c, "k", "x")
	})
}
