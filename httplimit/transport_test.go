package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func TestTheStatusIsTheOutcome(t *testing.T) {
	after := http.Header{"Retry-After": {"1"}}
	for _, c := range []struct {
		status int
		header http.Header
		want   window.Outcome
	}{
		{200, nil, window.Success},
		{301, after, window.Success},
		{401, nil, window.Neutral},
		{403, nil, window.Neutral},
		{403, after, window.Overload},
		{404, nil, window.ClientError},
		{408, nil, window.Timeout},
		{429, nil, window.Overload},
		{500, nil, window.Neutral},
		{503, after, window.Overload},
		{504, nil, window.Timeout},
	} {
		t.Run(http.StatusText(c.status), func(t *testing.T) {
			l := watch(t)
			resp, err := httplimit.New(answers(c.status, c.header, text("hello")), l.Limiter).RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			l.held(1)
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
			l.ended(c.want)
			require.NoError(t, resp.Body.Close())
		})
	}
}

func TestTheLimitersClassifierReadsAnswers(t *testing.T) {
	l := watch(t, aimd.WithClassifier(func(err error) attempt.Verdict {
		var status *httplimit.StatusError
		if errors.As(err, &status) && status.StatusCode == 500 {
			return attempt.Verdict{Outcome: window.Overload}
		}
		return attempt.Verdict{}
	}))
	for status, want := range map[int]window.Outcome{500: window.Overload, 503: window.Neutral} {
		resp, err := httplimit.New(answers(status, nil, text("")), l.Limiter).RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		l.ended(want)
	}
}

// A Retry-After reaches the limiter: after the second refusal in a row it speaks for everybody.
func TestRetryAfterReachesTheLimiter(t *testing.T) {
	for name, value := range map[string]string{
		"seconds": "3600",
		"date":    time.Now().Add(time.Hour).UTC().Format(http.TimeFormat),
	} {
		t.Run(name, func(t *testing.T) {
			l := watch(t)
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", value)
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			tr := httplimit.New(s.Client().Transport, l.Limiter)
			for range 2 {
				_, err := tr.RoundTrip(get(t.Context(), s.URL))
				require.NoError(t, err)
				l.ended(window.Overload)
			}
			assert.EqualValues(t, 1, l.Snapshot().Pauses)
			_, free := l.TryAcquire()
			assert.False(t, free, "everybody pauses")
		})
	}
}

func TestNoBodyHoldsNoSlot(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/head":
			w.Header().Set("Content-Length", "1000")
		}
	})
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			s := p.start(t, handler)
			tr := httplimit.New(s.Client().Transport, l.Limiter)
			for _, path := range []string{"/204", "/304", "/head", "/empty"} {
				req := get(t.Context(), s.URL+path)
				if path == "/head" {
					req.Method = http.MethodHead
				}
				resp, err := tr.RoundTrip(req)
				require.NoError(t, err, path)
				l.ended(window.Success) // though nobody closed the body
				require.NoError(t, resp.Body.Close())
			}
		})
	}
	t.Run("nil", func(t *testing.T) {
		l := one(t)
		_, err := httplimit.New(answers(200, nil, nil), l.Limiter).RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		l.ended(window.Success)
	})
	t.Run("hand-made with a body and no ContentLength", func(t *testing.T) {
		l := one(t)
		made := base(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ProtoMajor: 1, Body: text("hello")}, nil
		})
		resp, err := httplimit.New(made, l.Limiter).RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		l.held(1)
		require.NoError(t, resp.Body.Close())
		l.ended(window.Success)
	})
}

func TestARefusedConnectionIsNeutral(t *testing.T) {
	l := one(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	_, err = httplimit.New(tr, l.Limiter).RoundTrip(get(t.Context(), "http://"+ln.Addr().String()))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	l.ended(window.Neutral)
}

func TestAConnectionResetBeforeTheAnswer(t *testing.T) {
	reset := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			assert.NoError(t, conn.(*net.TCPConn).SetLinger(0)) // Close sends a reset
			assert.NoError(t, conn.Close())
		}
	})
	for _, c := range []struct {
		name string
		opts []aimd.Option
		want window.Outcome
	}{
		{"neutral by default", nil, window.Neutral},
		{"overload if the limiter says so", []aimd.Option{
			aimd.WithClassifier(attempt.FirstOf(attempt.ConnectionsAsOverload, attempt.Classify)),
		}, window.Overload},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := one(t, c.opts...)
			s := serve(t, reset)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, newSent())
			require.NoError(t, err)
			_, err = httplimit.New(s.Client().Transport, l.Limiter).RoundTrip(req)
			require.Error(t, err)
			l.ended(c.want)
		})
	}
}

func TestABaseThatReturnsNothing(t *testing.T) {
	l := one(t)
	resp, err := httplimit.New(base(func(*http.Request) (*http.Response, error) { return nil, nil }), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	assert.Nil(t, resp)
	assert.EqualError(t, err, "httplimit: the base returned neither an answer nor an error")
	l.ended(window.Neutral)
}

func TestTheRequestIsHandedOnAsItIs(t *testing.T) {
	l := one(t)
	req := get(t.Context(), anyURL)
	var got *http.Request
	tr := httplimit.New(base(func(r *http.Request) (*http.Response, error) {
		got = r
		assert.True(t, l.HasSlot(r.Context()))
		return answers(200, nil, http.NoBody)(r)
	}), l.Limiter)
	before := *req
	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	l.ended(window.Success)
	assert.Equal(t, req, got.WithContext(req.Context()), "all but the context, which says that it has a slot")
	assert.Equal(t, before, *req)
	assert.Equal(t, http.NoBody, resp.Body)
}

// idler is a base with idle connections.
type idler struct {
	base
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

func TestCloseIdleConnectionsIsForwarded(t *testing.T) {
	l := one(t)
	var i idler
	(&http.Client{Transport: httplimit.New(&i, l.Limiter)}).CloseIdleConnections()
	assert.Equal(t, 1, i.closed)
	httplimit.New(i.base, l.Limiter).CloseIdleConnections() // a base without any
}

func TestATransportThatIsNotMade(t *testing.T) {
	body := newSent()
	req := get(t.Context(), anyURL)
	req.Body = body
	_, err := new(httplimit.Transport).RoundTrip(req)
	require.ErrorContains(t, err, "not made with New or PerHost")
	assert.True(t, body.closed.Load())
	for range new(httplimit.Transport).Limiters() {
		t.Error("the zero Transport has a limiter")
	}
	require.Panics(t, func() { httplimit.New(nil, nil) })
}

func TestLimitersOfNew(t *testing.T) {
	l := one(t)
	n := 0
	for host, got := range httplimit.New(nil, l.Limiter).Limiters() {
		assert.Empty(t, host)
		assert.Same(t, l.Limiter, got)
		n++
	}
	assert.Equal(t, 1, n)
}

func TestNilBaseIsTheDefaultTransport(t *testing.T) {
	l := one(t)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	client := &http.Client{Transport: httplimit.New(nil, l.Limiter)}
	defer client.CloseIdleConnections()
	resp, err := client.Get(s.URL)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, "hello", string(body))
	l.ended(window.Success)
}

// A redirect is a request of its own. http.Client closes the first body before the second request, so one
// slot is enough.
func TestRedirectsNeedOneSlot(t *testing.T) {
	l := one(t)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	}))
	resp, err := (&http.Client{Transport: httplimit.New(s.Client().Transport, l.Limiter)}).Get(s.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	l.ended(window.Success)
	l.ended(window.Success)
}

func TestErrorsThroughAClientKeepTheirMeaning(t *testing.T) {
	l := one(t)
	l.Close()
	client := &http.Client{Transport: httplimit.New(answers(200, nil, nil), l.Limiter)}
	_, err := client.Get(anyURL)
	var u *url.Error
	require.ErrorAs(t, err, &u)
	assert.False(t, u.Timeout())
	assert.ErrorIs(t, err, limiter.ErrClosed)
	assert.EqualError(t, err, `Get "http://service.example/": gave up before the first attempt: limiter: closed`)
}

// broken is a body that cannot be read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return nil }

// Within Do of the same limiter the request goes with the slot that Do has.
func TestWithinDoOfTheSameLimiter(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	l, err := aimd.NewReno(aimd.WithInitialWindow(1), aimd.WithMaxWindow(1))
	require.NoError(t, err)
	client := &http.Client{Transport: httplimit.New(s.Client().Transport, l)}
	defer client.CloseIdleConnections()
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return httplimit.Check(resp)
	}))
	require.EqualValues(t, 1, l.Snapshot().Attempts())
	require.Zero(t, l.Snapshot().InFlight)
}

// Whoever has a slot does not wait for another, in both orders: a request within Do or Each, and Do, Each
// or a request within a request (a base that fetches a token with the same limiter, say). There is one
// slot here.
func TestNothingWithinAnotherWaitsForASlot(t *testing.T) {
	l := one(t)
	nothing := func(context.Context) error { return nil }
	each := func(ctx context.Context, fn func(context.Context) error) error {
		for _, err := range aimd.Each(ctx, l.Limiter, func(yield func(int) bool) { _ = yield(1) && yield(2) },
			func(ctx context.Context, _ int) error { return fn(ctx) }) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	// through is a request whose base runs fn.
	through := func(ctx context.Context, fn func(context.Context) error) error {
		_, err := httplimit.New(base(func(r *http.Request) (*http.Response, error) {
			if err := fn(r.Context()); err != nil {
				return nil, err
			}
			return answers(200, nil, http.NoBody)(r)
		}), l.Limiter).RoundTrip(get(ctx, anyURL))
		return err
	}
	type way func(context.Context, func(context.Context) error) error
	for name, pair := range map[string][2]way{
		"a request within Do": {l.Do, through}, "a request within Each": {each, through},
		"Do within a request": {through, l.Do}, "Each within a request": {through, each},
		"a request within a request": {through, through},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, pair[0](t.Context(), func(ctx context.Context) error {
				assert.True(t, l.HasSlot(ctx))
				return pair[1](ctx, nothing)
			}))
			l.ended(window.Success)
			for len(l.outcomes) > 0 { // Each has two items
				l.ended(window.Success)
			}
		})
	}
}

// The answer's request is the caller's, not the one that said that it had a slot.
func TestTheAnswersRequestIsTheCallers(t *testing.T) {
	l := one(t)
	req := get(t.Context(), anyURL)
	resp, err := httplimit.New(base(func(r *http.Request) (*http.Response, error) {
		resp, err := answers(200, nil, http.NoBody)(r)
		resp.Request = r
		return resp, err
	}), l.Limiter).RoundTrip(req)
	require.NoError(t, err)
	require.Same(t, req, resp.Request)
	l.ended(window.Success)
}

// A body that can be written to is a connection only with status 101; that of any other answer ends with
// its context.
func TestAWriteMethodAloneIsNoUpgrade(t *testing.T) {
	l := one(t)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := httplimit.New(answers(200, nil, rwc{brokenWriter{}}), l.Limiter).RoundTrip(get(ctx, anyURL))
	require.NoError(t, err)
	l.held(1)
	cancel()
	l.ended(window.Neutral)
	require.NoError(t, resp.Body.Close())
}
