package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/s3test"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inTime runs a part of a test on virtual time.
func inTime(t *testing.T, name string, part func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, part) })
}

// watched is a limiter that reports how every attempt ended.
type watched struct {
	*aimd.Limiter
	t *testing.T
	// outcomes has the attempts' outcomes, in order.
	outcomes chan window.Outcome
}

// watch returns a limiter with the options. After the test all slots must be free, and none released
// twice.
func watch(t *testing.T, config aimd.Config) watched {
	t.Helper()
	w := watched{t: t, outcomes: make(chan window.Outcome, 10_000)}
	config.Law = aimd.Reno(0.5)
	config.Observer = func(e aimd.Event) {
		if e.Outcome.Valid() {
			w.outcomes <- e.Outcome
		}
	}
	w.Limiter = attempttest.Limiter(t, config)
	t.Cleanup(func() {
		s := w.Snapshot()
		assert.Zero(t, s.InFlight, "in flight at the end")
		assert.Zero(t, s.Queued, "queued at the end")
		assert.Zero(t, s.Late, "slots released twice")
		assert.Empty(t, w.outcomes, "answers the test did not expect")
	})
	return w
}

// one returns a limiter with a single slot.
func one(t *testing.T, config aimd.Config) watched {
	config.InitialWindow, config.MaxWindow = 1, 1
	return watch(t, config)
}

// narrow is a limiter with one slot that nobody watches.
func narrow(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	config.Law, config.InitialWindow, config.MaxWindow = aimd.Reno(0.5), 1, 1
	return attempttest.Limiter(t, config)
}

// limited is a Transport with one limiter over that base.
func limited(base http.RoundTripper, l *aimd.Limiter) *httplimit.Transport {
	return &httplimit.Transport{Base: base, Limiter: l}
}

// clientOn is httplimit.NewClient over that base.
func clientOn(base http.RoundTripper, l *aimd.Limiter) *http.Client {
	return limited(base, l).Client()
}

// ended waits until the next attempt ended, and says how.
func (w watched) ended(want window.Outcome) {
	w.t.Helper()
	select {
	case got := <-w.outcomes:
		require.Equal(w.t, want, got, "want %v, got %v", want, got)
	case <-time.After(time.Minute):
		require.FailNow(w.t, "the slot was not released")
	}
}

// held asserts that so many slots are held, and none was released.
func (w watched) held(n int) {
	w.t.Helper()
	require.Equal(w.t, n, w.Snapshot().InFlight, "in flight")
	require.Empty(w.t, w.outcomes, "released already")
}

// waiting asserts that so many requests are in the queue once all is at rest, in a bubble.
func (w watched) waiting(n int) {
	w.t.Helper()
	synctest.Wait()
	assert.Equal(w.t, n, w.Snapshot().Queued, "queued")
}

// base is an http.RoundTripper made of a function.
type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answers is a base that answers every request.
func answers(status int, header http.Header, body io.ReadCloser) base {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: header, Body: body, Request: req, ContentLength: -1,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// text is a body with a text in it.
func text(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// sent is a request's body that knows whether it was closed.
type sent struct {
	io.Reader
	closed atomic.Bool
}

func newSent() *sent { return &sent{Reader: strings.NewReader("payload")} }

func (b *sent) Close() error {
	b.closed.Store(true)
	return nil
}

// get is a GET request with the context.
func get(ctx context.Context, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	return req
}

// anyURL is for requests that a base without a network gets.
const anyURL = "http://service.example/"

// protocol is a way to serve.
type protocol struct {
	name  string
	start func(*testing.T, http.Handler) *httptest.Server
}

// serve starts a server on the loopback.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// serve2 is serve with HTTP/2.
func serve2(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// inMemory are the protocols over pipes, for tests on virtual time.
var inMemory = []protocol{{"HTTP1", pipe}, {"HTTP2", pipe2}}

// pipe starts a server whose connections are pipes. Its Client dials it.
func pipe(t *testing.T, h http.Handler) *httptest.Server { return piped(t, h, false) }

// pipe2 is pipe with HTTP/2.
func pipe2(t *testing.T, h http.Handler) *httptest.Server { return piped(t, h, true) }

func piped(t *testing.T, h http.Handler, http2 bool) *httptest.Server {
	l := s3test.Listen()
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}, EnableHTTP2: http2}
	if http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	tr := s.Client().Transport.(*http.Transport)
	tr.DialContext, tr.MaxIdleConnsPerHost = l.DialContext, 64
	if http2 {
		tr.TLSClientConfig.ServerName = "example.com" // what its certificate says
	}
	t.Cleanup(s.Close)
	return s
}

// async runs f on a goroutine of its own.
func async(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

// reporting is a service whose answers report quotas: answer returns the status and pairs of a header's name
// and its value, and is called by one goroutine at a time, before a request has waited for after.
func reporting(before, after time.Duration, answer func() (status int, header []any)) base {
	var mu sync.Mutex
	return func(r *http.Request) (*http.Response, error) {
		time.Sleep(before)
		mu.Lock()
		status, pairs := answer()
		mu.Unlock()
		time.Sleep(after)
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i].(string), fmt.Sprint(pairs[i+1]))
		}
		resp, err := answers(status, h, io.NopCloser(strings.NewReader("x")))(r)
		return resp, err
	}
}

// busy sends requests with so many goroutines until the context ends, each again if it is refused, and returns
// the number of requests that were accepted. most is the most of them; 0: no limit.
func busy(ctx context.Context, rt http.RoundTripper, goroutines, most int) (accepted func() int, wait func()) {
	var all sync.WaitGroup
	var begun, done atomic.Int64
	for range goroutines {
		all.Go(func() {
			for ctx.Err() == nil && (most == 0 || begun.Add(1) <= int64(most)) {
				for ok := false; !ok && ctx.Err() == nil; {
					resp, err := rt.RoundTrip(get(ctx, anyURL))
					if err == nil {
						resp.Body.Close()
						ok = resp.StatusCode == http.StatusOK
					}
				}
				done.Add(1)
			}
		})
	}
	return func() int { return int(done.Load()) }, all.Wait
}
