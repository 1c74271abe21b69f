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

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/fakes3"
)

// A wrong port is told within 10 s; once somebody has answered, work waits.
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

// "Don't retry on out of quota."
func TestOutOfQuota(t *testing.T) {
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool {
		fakes3.Answer(w, r, http.StatusServiceUnavailable, strings.ReplaceAll(slowDown, "SlowDown", "QuotaExceeded"))
		return true
	}))
	l := newLimiter(t)
	err := put(t.Context(), s.client(l), "k", "x")
	require.ErrorIs(t, err, attempt.ErrQuota)
	requireCode(t, err, "QuotaExceeded")
	requireOutcomes(t, l, outcomes{neutrals: 1})
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

// What talks, but not as S3, is told as well, although the SDK would go on for ever: an HTTPS server
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
