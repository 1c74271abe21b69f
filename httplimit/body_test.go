package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

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
