package httplimit_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// upgrade is a handler that becomes an echo of lines, until the peer is done.
func upgrade(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				_, _ = io.WriteString(conn, "bye\n")
				return
			}
			_, _ = io.WriteString(conn, line)
		}
	})
}

func upgradeRequest(ctx context.Context, url string) *http.Request {
	req := get(ctx, url)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	return req
}

func TestSwitchingProtocols(t *testing.T) {
	l := one(t)
	s := serve(t, upgrade(t))
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := httplimit.New(s.Client().Transport, l.Limiter).RoundTrip(upgradeRequest(ctx, s.URL))
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	conn, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok, "the body of a 101 is an io.ReadWriteCloser")

	cancel() // the connection outlives it, and so does the slot
	r := bufio.NewReader(conn)
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "hello\n", line)
	l.held(1)

	half, ok := conn.(interface{ CloseWrite() error })
	require.True(t, ok)
	require.NoError(t, half.CloseWrite())
	line, err = r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "bye\n", line)
	l.held(1)
	require.NoError(t, conn.Close())
	l.ended(window.Success)
}

// Many give the handshake a deadline, and the connection none.
func TestADeadlineOfTheHandshakeIsNotTheConnections(t *testing.T) {
	l := one(t)
	ctx := newTerm(time.Now().Add(time.Hour))
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	resp, err := httplimit.New(answers(101, nil, rwc{brokenWriter{broken{reset}}}), l.Limiter).RoundTrip(get(ctx, anyURL))
	require.NoError(t, err)
	ctx.end(context.DeadlineExceeded)
	l.held(1)
	_, err = resp.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, reset)
	l.ended(window.Neutral)
}

type brokenWriter struct{ broken }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

// rwc is a connection without CloseWrite.
type rwc struct{ io.ReadWriter }

func (rwc) Close() error { return nil }

func TestCloseWriteWhereThereIsNone(t *testing.T) {
	l := one(t)
	resp, err := httplimit.New(answers(101, nil, rwc{new(bytes.Buffer)}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	assert.ErrorIs(t, resp.Body.(interface{ CloseWrite() error }).CloseWrite(), errors.ErrUnsupported)
	_, err = resp.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	l.ended(window.Success)
}

// A body may have a Write method and be no connection: with the end of the context its slot is free.
func TestABodyWithAWriteMethodIsNoConnection(t *testing.T) {
	for status, want := range map[int]window.Outcome{200: window.Neutral, 503: window.Overload} {
		l := one(t)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := httplimit.New(answers(status, nil, rwc{bytes.NewBufferString("hello")}), l.Limiter).RoundTrip(get(ctx, anyURL))
		require.NoError(t, err)
		_, ok := resp.Body.(io.Writer)
		assert.False(t, ok, "as the bodies of net/http")
		l.held(1)
		cancel()
		l.ended(want)
		require.NoError(t, resp.Body.Close())
	}
}

// A reverse proxy asks for more of a body than most.
func TestUpgradeThroughAReverseProxy(t *testing.T) {
	l := one(t)
	behind := serve(t, upgrade(t))
	target, err := url.Parse(behind.URL)
	require.NoError(t, err)
	front := serve(t, &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: httplimit.New(behind.Client().Transport, l.Limiter),
	})
	resp, err := front.Client().Transport.RoundTrip(upgradeRequest(t.Context(), front.URL))
	require.NoError(t, err)
	conn := resp.Body.(io.ReadWriteCloser)
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "hello\n", line)
	l.held(1)
	require.NoError(t, conn.Close())
	<-l.outcomes
}
