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
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// streaming is a handler that sends its answer in two parts, the second when it is told to.
func streaming() (http.Handler, chan struct{}) {
	more := make(chan struct{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		_, _ = io.WriteString(w, "first ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, "second")
		w.Header().Set("Sum", "12")
	}), more
}

// open sends a request to a streaming server and reads the first part.
func open(t *testing.T, ctx context.Context, p protocol, l watched) (resp *http.Response, more chan struct{}) {
	t.Helper()
	h, more := streaming()
	s := p.start(t, h)
	resp, err := httplimit.New(s.Client().Transport, l.Limiter).RoundTrip(get(ctx, s.URL))
	require.NoError(t, err)
	// What the server flushed arrives, though the rest is not there.
	first := make([]byte, 6)
	_, err = io.ReadFull(resp.Body, first)
	require.NoError(t, err)
	require.Equal(t, "first ", string(first))
	l.held(1)
	return resp, more
}

func TestTheSlotIsHeldUntilTheEndOfTheBody(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			resp, more := open(t, t.Context(), p, l)
			close(more)
			var rest bytes.Buffer
			_, err := io.Copy(&rest, resp.Body)
			require.NoError(t, err)
			assert.Equal(t, "second", rest.String())
			assert.Equal(t, "12", resp.Trailer.Get("Sum"))
			l.ended(window.Success)
			// Everything after the end is harmless.
			_, err = resp.Body.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, resp.Body.Close())
			require.NoError(t, resp.Body.Close())
		})
	}
}

func TestAnEarlyCloseIsASuccess(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			resp, _ := open(t, t.Context(), p, l)
			require.NoError(t, resp.Body.Close())
			l.ended(window.Success)
		})
	}
}

func TestCancelledWhileReading(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			ctx, cancel := context.WithCancel(t.Context())
			resp, _ := open(t, ctx, p, l)
			read := async(func() error { _, err := io.ReadAll(resp.Body); return err })
			cancel()
			require.ErrorIs(t, <-read, context.Canceled)
			l.ended(window.Neutral)
			require.NoError(t, resp.Body.Close())
		})
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	l := one(t)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	resp, err := httplimit.New(s.Client().Transport, l.Limiter).RoundTrip(get(t.Context(), s.URL))
	require.NoError(t, err)
	got, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, "hello", string(got))
	l.ended(window.Neutral)
}

// stuck is a body whose Read waits until it is closed.
type stuck struct {
	reading, closed chan struct{}
	once, end       sync.Once
}

func newStuck() *stuck {
	return &stuck{reading: make(chan struct{}), closed: make(chan struct{})}
}

func (s *stuck) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.reading) })
	<-s.closed
	return 0, errors.New("read on a closed body")
}

func (s *stuck) Close() error {
	s.end.Do(func() { close(s.closed) })
	return nil
}

// counting is a body that counts its calls.
type counting struct {
	io.Reader
	closes atomic.Int32
}

func (c *counting) Close() error {
	c.closes.Add(1)
	return errors.New("close failed")
}

// late is what a service sends that takes its time for each piece, by the clock.
type late struct {
	io.Reader
	clock *clock.Mock
	takes time.Duration
}

func (l late) Read(p []byte) (int, error) {
	l.clock.Add(l.takes)
	return l.Reader.Read(p)
}

// An answer that is copied from elsewhere begins with its first byte, whatever way the copy goes: a
// handler can still say 503 before that, and may be slow until then.
func TestACopyBeginsTheAnswerWhenItBegins(t *testing.T) {
	for _, p := range serverProtocols {
		t.Run(p.name, func(t *testing.T) {
			outcomes := make(chan window.Outcome, 1)
			mock := clock.NewMock()
			c, err := admission.New(admission.Fixed(1), admission.Config{Clock: mock, Observer: func(e admission.Event) {
				if e.Kind == admission.Released {
					outcomes <- e.Outcome
				}
			}})
			require.NoError(t, err)
			content, takes := strings.Repeat("0123456789", 1000), 20*time.Second
			h, err := httplimit.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/broken" {
					_, err := io.Copy(w, broken{io.ErrUnexpectedEOF})
					assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
					http.Error(w, "the service behind is away", http.StatusServiceUnavailable)
					return
				}
				n, err := io.Copy(w, late{strings.NewReader(content), mock, takes})
				assert.EqualValues(t, len(content), n)
				assert.NoError(t, err)
			}), c, httplimit.HandlerConfig{Slow: 15 * time.Second})
			require.NoError(t, err)
			s := p.start(t, h)
			get := func(path string) (int, string) {
				resp, err := s.Client().Get(s.URL + path)
				require.NoError(t, err)
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				return resp.StatusCode, string(body)
			}
			status, _ := get("/broken")
			assert.Equal(t, http.StatusServiceUnavailable, status)
			assert.Equal(t, window.Overload, <-outcomes)
			_, body := get("/")
			assert.Equal(t, content, body)
			assert.Equal(t, window.Timeout, <-outcomes)
			takes = 10 * time.Second // and then 10 s for the next piece
			_, body = get("/")
			assert.Equal(t, content, body)
			assert.Equal(t, window.Success, <-outcomes)
		})
	}
}

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

func TestAPanicReleasesTheSlot(t *testing.T) {
	l := one(t)
	tr := httplimit.New(base(func(*http.Request) (*http.Response, error) { panic("boom") }), l.Limiter)
	require.PanicsWithValue(t, "boom", func() { _, _ = tr.RoundTrip(get(t.Context(), anyURL)) })
	l.ended(window.Neutral)

	tr = httplimit.New(base(func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil }), l.Limiter)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_, _ = tr.RoundTrip(get(t.Context(), anyURL))
	}()
	<-exited
	l.ended(window.Neutral)
}

func TestAPanicOfTheClassifierReleasesTheSlot(t *testing.T) {
	l := one(t, aimd.WithClassifier(func(error) attempt.Verdict { panic("boom") }))
	for _, b := range []base{
		answers(500, nil, text("hello")),
		func(*http.Request) (*http.Response, error) { return nil, errors.New("failed") },
	} {
		require.PanicsWithValue(t, "boom", func() {
			_, _ = httplimit.New(b, l.Limiter).RoundTrip(get(t.Context(), anyURL))
		})
		l.ended(window.Neutral)
	}
	// In Read too, and Close has nothing more to say.
	resp, err := httplimit.New(answers(200, nil, broken{errors.New("failed")}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.PanicsWithValue(t, "boom", func() { _, _ = resp.Body.Read(nil) })
	l.ended(window.Neutral)
	require.NoError(t, resp.Body.Close())
}
