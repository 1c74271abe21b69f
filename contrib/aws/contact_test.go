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
	require.ErrorContains(t, err, "nobody answers there")
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
