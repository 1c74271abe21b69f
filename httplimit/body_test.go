package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// Close while another goroutine reads is how one stops a download. The error that Read then returns is no
// error of the service.
func TestCloseDuringARead(t *testing.T) {
	l := one(t)
	body := newStuck()
	resp, err := httplimit.New(answers(200, nil, body), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	read := async(func() error { _, err := resp.Body.Read(nil); return err })
	<-body.reading
	require.NoError(t, resp.Body.Close())
	l.ended(window.Success)
	require.Error(t, <-read)
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

// A body that nobody reads or closes gives its slot back with its context.
func TestCancelledWithTheBodyOpen(t *testing.T) {
	for status, want := range map[int]window.Outcome{200: window.Neutral, 404: window.Neutral, 429: window.Overload} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			l := one(t)
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := httplimit.New(answers(status, nil, text("hello")), l.Limiter).RoundTrip(get(ctx, anyURL))
			require.NoError(t, err)
			l.held(1)
			cancel()
			l.ended(want)
			require.NoError(t, resp.Body.Close())
		})
	}
}

// What the context does after the end is nothing to the limiter: a context that lives long does not
// gather all the bodies that there were.
func TestTheContextIsForgottenAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(io.ReadCloser) error{
		"read":   func(b io.ReadCloser) error { _, err := io.ReadAll(b); return err },
		"closed": func(b io.ReadCloser) error { return b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l := one(t)
			ctx := &long{term: newTerm(time.Time{})}
			resp, err := httplimit.New(answers(200, nil, text("hello")), l.Limiter).RoundTrip(get(ctx, anyURL))
			require.NoError(t, err)
			require.Equal(t, 1, ctx.watchers)
			require.NoError(t, end(resp.Body))
			l.ended(window.Success)
			assert.Zero(t, ctx.watchers)
		})
	}
}

// long is a context that counts who watches it with context.AfterFunc.
type long struct {
	*term
	watchers int
}

func (c *long) AfterFunc(func()) (stop func() bool) {
	c.watchers++
	return func() bool { c.watchers--; return true }
}

func TestABodyThatBreaksOff(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		err    error
		want   window.Outcome
	}{
		{"cut off", 200, io.ErrUnexpectedEOF, window.Neutral},
		{"reset", 200, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, window.Neutral},
		{"timeout", 200, &net.OpError{Op: "read", Err: context.DeadlineExceeded}, window.Timeout},
		{"refused anyway", 503, io.ErrUnexpectedEOF, window.Overload},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := one(t)
			resp, err := httplimit.New(answers(c.status, nil, broken{c.err}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			_, err = io.ReadAll(resp.Body)
			require.ErrorIs(t, err, c.err)
			l.ended(c.want)
			require.NoError(t, resp.Body.Close())
		})
	}
	t.Run("by a server", func(t *testing.T) {
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
	})
}

// io.Copy takes a body's own WriteTo where it has one. The end must be seen all the same.
func TestACopySeesTheEnd(t *testing.T) {
	l := one(t)
	body := text("hello") // io.NopCloser of a strings.Reader has a WriteTo
	require.Implements(t, (*io.WriterTo)(nil), body)
	resp, err := httplimit.New(answers(200, nil, body), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	var got bytes.Buffer
	_, err = io.Copy(&got, resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "hello", got.String())
	l.ended(window.Success)
}

// The end comes from three sides at once; the slot is released once.
func TestOneEndOfMany(t *testing.T) {
	l := watch(t)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		body := newStuck()
		resp, err := httplimit.New(answers(200, nil, body), l.Limiter).RoundTrip(get(ctx, anyURL))
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(cancel)
		all.Go(func() { _ = resp.Body.Close() })
		all.Go(func() { _, _ = resp.Body.Read(nil) })
		all.Wait()
		<-l.outcomes
	}
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

// The connection is in use until the body beneath is closed, and so is the slot.
func TestTheSlotIsReleasedAfterTheBodyIsClosed(t *testing.T) {
	l := one(t)
	resp, err := httplimit.New(answers(200, nil, closing{text("hello"), func() { l.held(1) }}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	l.ended(window.Success)

	resp, err = httplimit.New(answers(200, nil, closing{text("hello"), func() { panic("boom") }}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.PanicsWithValue(t, "boom", func() { _ = resp.Body.Close() })
	l.ended(window.Success)
}

// closing is a body that does something when it is closed.
type closing struct {
	io.ReadCloser
	first func()
}

func (c closing) Close() error {
	c.first()
	return c.ReadCloser.Close()
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

func TestCloseReachesTheBodyAndItsErrorTheCaller(t *testing.T) {
	l := one(t)
	body := &counting{Reader: bytes.NewReader(nil)}
	resp, err := httplimit.New(answers(200, nil, body), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	assert.EqualError(t, resp.Body.Close(), "close failed")
	assert.EqualError(t, resp.Body.Close(), "close failed")
	assert.EqualValues(t, 2, body.closes.Load())
	l.ended(window.Success)
}
