package aimdaws_test

import (
	"context"
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
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/fakes3"
)

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
			fakes3.Answer(w, r, status, body)
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
		"SlowDown":                   {answer: fakes3.Refuse, want: outcomes{successes: 1, overloads: 1}},
		"503 of a proxy":             {answer: status(503, html), want: outcomes{successes: 1, overloads: 1}},
		"429 of a proxy":             {answer: status(429, html), want: outcomes{successes: 1, overloads: 1}},
		"429 with a code":            {answer: status(429, strings.ReplaceAll(slowDown, "SlowDown", "TooManyRequests")), want: outcomes{successes: 1, overloads: 1}},
		"429 with Retry-After in ms": {answer: status(429, html, "X-Amz-Retry-After", "20"), want: outcomes{successes: 1, overloads: 1}, waits: true},
		"403 with Retry-After":       {answer: status(403, html, "X-Amz-Retry-After", "20"), want: outcomes{successes: 1, overloads: 1}, waits: true},
		"SlowDown inside a 200":      {answer: status(200, slowDown), want: outcomes{successes: 1, overloads: 1}},
		"RequestTimeout":             {answer: status(400, strings.ReplaceAll(slowDown, "SlowDown", "RequestTimeout")), want: outcomes{successes: 1, timeouts: 1}},
		"InternalError":              {answer: status(500, strings.ReplaceAll(slowDown, "SlowDown", "InternalError")), want: outcomes{successes: 1, neutrals: 1}, waits: true},
		"502 of a proxy":             {answer: status(502, html), want: outcomes{successes: 1, neutrals: 1}, waits: true},
		"404 is a final answer":      {answer: status(404, strings.ReplaceAll(slowDown, "SlowDown", "NoSuchUpload")), want: outcomes{clientErrors: 1}, code: "NoSuchUpload"},
		"403 is a final answer":      {answer: status(403, strings.ReplaceAll(slowDown, "SlowDown", "AccessDenied")), want: outcomes{neutrals: 1}, code: "AccessDenied"},
		"400 that is no XML":         {answer: status(400, html), want: outcomes{clientErrors: 1}, code: "BadRequest"},
	} {
		for _, retries2026 := range []string{"", "true"} {
			t.Run(name+", AWS_NEW_RETRIES_2026="+retries2026, func(t *testing.T) {
				t.Setenv("AWS_NEW_RETRIES_2026", retries2026)
				synctest.Test(t, func(t *testing.T) {
					s := newStore(t, once(c.answer))
					l := newLimiter(t)
					start := time.Now()
					_, err := s.client(l).DeleteObjects(t.Context(), deletion)
					if c.code != "" {
						requireCode(t, err, c.code)
					} else {
						require.NoError(t, err)
						require.Equal(t, c.waits, time.Since(start) > 0, "%v", time.Since(start))
					}
					requests, _ := s.Counts()
					require.EqualValues(t, requests, l.Snapshot().Attempts())
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
	l := newLimiter(t)
	err := put(t.Context(), s.client(l), "k", "x")
	require.ErrorIs(t, err, attempt.ErrNoContact)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.ErrorContains(t, err, "the service has never answered")
	require.Equal(t, 10*time.Second, time.Since(start))

	away.Store(false)
	require.NoError(t, put(t.Context(), s.client(l), "k", "x"))
	s.transport.CloseIdleConnections()
	away.Store(true)
	time.AfterFunc(time.Hour, func() { away.Store(false) })
	require.NoError(t, put(t.Context(), s.client(l), "k", "x"))
	requireIdle(t, l)
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
				l := newLimiter(t)
				start := time.Now()
				require.Error(t, put(t.Context(), s.client(l), "k", "x"))
				require.LessOrEqual(t, time.Since(start), 10*time.Second)
				requests, _ := s.Counts()
				require.EqualValues(t, 3, requests)
				requireIdle(t, l)
			})
		})
	}
}
