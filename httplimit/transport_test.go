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
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// The attempt of a Transport ends with the body of the answer, and the limiter and its guards learn how. What the
// answers mean is the classifier's word.
func TestWhatAnAnswerSays(t *testing.T) {
	after := http.Header{"Retry-After": {"1"}}
	fails := func(err error) base { return func(*http.Request) (*http.Response, error) { return nil, err } }
	own := aimd.Config{Classifier: func(err error) verdict.Verdict {
		var status *httplimit.StatusError
		if errors.As(err, &status) && status.StatusCode == 500 {
			return verdict.Verdict{Meaning: answer.Refused}
		}
		return verdict.Verdict{}
	}}
	for name, c := range map[string]struct {
		base  base
		want  window.Outcome
		guard window.Outcome
		opts  aimd.Config
	}{
		"200":                      {answers(200, nil, text("hello")), window.Success, window.Success, aimd.Config{}},
		"301":                      {answers(301, after, text("hello")), window.Success, window.Success, aimd.Config{}},
		"404":                      {answers(404, nil, text("hello")), window.ClientError, window.ClientError, aimd.Config{}},
		"503":                      {answers(503, after, text("hello")), window.Overload, window.Overload, aimd.Config{}},
		"500, by the classifier":   {answers(500, nil, text("hello")), window.Overload, window.Overload, own},
		"503, by the classifier":   {answers(503, nil, text("hello")), window.Neutral, window.Neutral, own},
		"broken off":               {answers(200, nil, broken{io.ErrUnexpectedEOF}), window.Neutral, window.Neutral, aimd.Config{}},
		"no connection":            {fails(refusedDial), window.Neutral, 0, aimd.Config{}},
		"no answer in time":        {fails(context.DeadlineExceeded), window.Timeout, window.Timeout, aimd.Config{}},
		"neither answer nor error": {fails(nil), window.Neutral, 0, aimd.Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			var w attempttest.Guard
			c.opts.Guards = append(c.opts.Guards, &w)
			l := one(t, c.opts)
			resp, err := limited(c.base, l.Limiter).RoundTrip(get(t.Context(), anyURL))
			if err == nil {
				l.held(1)
				_, ended := w.Heard()
				require.Empty(t, ended, "the attempt ends with the body")
				_, _ = io.ReadAll(resp.Body)
				l.ended(c.want)
				require.NoError(t, resp.Body.Close())
			} else {
				require.Nil(t, resp)
				l.ended(c.want)
			}
			attempts, ended := w.Heard()
			assert.Equal(t, []int{0}, attempts)
			assert.Equal(t, []window.Outcome{c.guard}, ended)
		})
	}
	_, err := limited(fails(nil), narrow(t, aimd.Config{})).RoundTrip(get(t.Context(), anyURL))
	assert.EqualError(t, err, "httplimit: the base returned neither an answer nor an error")
}

// service answers in several ways, by the request's path.
func service(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w).Flush
	switch r.URL.Path {
	case "/":
		_, _ = io.WriteString(w, "hello")
	case "/stream": // in two parts, a minute between them
		w.Header().Set("Trailer", "Sum")
		_, _ = io.WriteString(w, "first ")
		_ = flush()
		select {
		case <-time.After(time.Minute):
			_, _ = io.WriteString(w, "second")
			w.Header().Set("Sum", "12")
		case <-r.Context().Done():
		}
	case "/hang":
		<-r.Context().Done()
	case "/redirect":
		http.Redirect(w, r, "/", http.StatusFound)
	case "/204":
		w.WriteHeader(http.StatusNoContent)
	case "/304":
		w.WriteHeader(http.StatusNotModified)
	case "/empty":
		w.Header().Set("Content-Length", "0")
	}
}

// The ends of a request to a real server, on virtual time. Package attempt has those of a body.
func TestHowARequestEnds(t *testing.T) {
	type call func(*testing.T, watched, *http.Client, string)
	// first opens a stream and reads its first part, which comes though the rest does not.
	first := func(t *testing.T, l watched, c *http.Client, ctx context.Context, at string) *http.Response {
		resp, err := c.Do(get(ctx, at))
		require.NoError(t, err)
		part := make([]byte, 6)
		_, err = io.ReadFull(resp.Body, part)
		require.NoError(t, err)
		require.Equal(t, "first ", string(part))
		l.held(1)
		return resp
	}
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		return ctx, cancel
	}
	unread := func(path string) call { // nobody closes it
		return func(t *testing.T, _ watched, c *http.Client, at string) {
			resp, err := c.Get(at + path)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, resp.Body.Close()) })
		}
	}
	for name, c := range map[string]struct {
		call call
		want window.Outcome
	}{
		"read to the end": {func(t *testing.T, l watched, c *http.Client, at string) {
			resp := first(t, l, c, t.Context(), at+"/stream")
			second := async(func() error { // waits for the slot of the first
				resp, err := c.Get(at + "/204")
				if err != nil {
					return err
				}
				return resp.Body.Close()
			})
			l.waiting(1)
			rest, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, "second", string(rest))
			assert.Equal(t, "12", resp.Trailer.Get("Sum"))
			l.ended(window.Success)
			require.NoError(t, <-second)
			_, err = resp.Body.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF, "what follows the end is harmless")
			require.NoError(t, resp.Body.Close())
			require.NoError(t, resp.Body.Close())
		}, window.Success},
		"cancelled while it is read": {func(t *testing.T, l watched, c *http.Client, at string) {
			ctx, cancel := cancelled(t.Context())
			defer cancel()
			resp := first(t, l, c, ctx, at+"/stream")
			_, err := io.ReadAll(resp.Body)
			require.ErrorIs(t, err, context.Canceled)
			_ = resp.Body.Close()
		}, window.Neutral},
		"http.Client.Timeout before the answer": {func(t *testing.T, _ watched, c *http.Client, at string) {
			c.Timeout = time.Second
			_, err := c.Get(at + "/hang")
			var u *url.Error
			require.ErrorAs(t, err, &u)
			assert.True(t, u.Timeout())
		}, window.Neutral}, // unclear, and the only one
		"cancelled before the answer": {func(t *testing.T, _ watched, c *http.Client, at string) {
			ctx, cancel := cancelled(t.Context())
			defer cancel()
			_, err := c.Do(get(ctx, at+"/hang"))
			require.ErrorIs(t, err, context.Canceled)
		}, window.Neutral},
		"a redirect, which is a request of its own": {func(t *testing.T, l watched, c *http.Client, at string) {
			resp, err := c.Get(at + "/redirect")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			l.ended(window.Success)
		}, window.Success},
		"204":   {unread("/204"), window.Success},
		"304":   {unread("/304"), window.Success},
		"empty": {unread("/empty"), window.Success},
		"HEAD": {func(t *testing.T, _ watched, c *http.Client, at string) {
			resp, err := c.Head(at)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, resp.Body.Close()) })
		}, window.Success},
	} {
		for _, p := range inMemory {
			inTime(t, name+", "+p.name, func(t *testing.T) {
				l := one(t, aimd.Config{})
				s := p.start(t, http.HandlerFunc(service))
				c.call(t, l, &http.Client{Transport: limited(s.Client().Transport, l.Limiter)}, s.URL)
				synctest.Wait()
				l.ended(c.want)
			})
		}
	}
}

// An answer without a body holds no slot, and one that is made by hand has a body until it is closed.
func TestAnswersMadeByHand(t *testing.T) {
	for body, held := range map[io.ReadCloser]int{nil: 0, http.NoBody: 0, broken{}: 1} {
		l := narrow(t, aimd.Config{})
		resp, err := limited(base(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ProtoMajor: 1, Body: body}, nil
		}), l).RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		require.Equal(t, held, l.Snapshot().InFlight)
		if body != nil {
			require.NoError(t, resp.Body.Close())
		}
		require.Zero(t, l.Snapshot().InFlight)
	}
}

// A panic of the base or the classifier gives the slot back.
func TestAPanicReleasesTheSlot(t *testing.T) {
	for name, b := range map[string]base{
		"base":                     func(*http.Request) (*http.Response, error) { panic("boom") },
		"classifier of an answer":  answers(500, nil, text("hello")),
		"classifier of an error":   func(*http.Request) (*http.Response, error) { return nil, errors.New("failed") },
		"classifier within a Read": answers(200, nil, broken{errors.New("failed")}),
	} {
		l := one(t, aimd.Config{Classifier: func(error) verdict.Verdict { panic("boom") }})
		require.PanicsWithValue(t, "boom", func() {
			resp, err := limited(b, l.Limiter).RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			_, _ = resp.Body.Read(nil)
		}, name)
		l.ended(window.Neutral)
	}
}

// A request without a slot is not sent, its body is closed, and the error says why.
func TestNotSent(t *testing.T) {
	mine := errors.New("mine")
	for name, c := range map[string]struct {
		opts    aimd.Config
		before  func(watched, context.CancelCauseFunc)
		want    error
		timeout bool
	}{
		"the context is over":   {before: func(_ watched, cancel context.CancelCauseFunc) { cancel(nil) }, want: context.Canceled},
		"the limiter is closed": {before: func(l watched, _ context.CancelCauseFunc) { l.Close() }, want: aimd.ErrClosed},
		"a guard refuses":       {opts: aimd.Config{Guards: []attempt.Guard{&attempttest.Guard{Refuse: mine}}}, want: mine},
		"cancelled in the queue for a cause": {before: func(_ watched, cancel context.CancelCauseFunc) {
			time.AfterFunc(time.Second, func() { cancel(mine) })
		}, want: mine},
		"a deadline in the queue": {want: context.DeadlineExceeded, timeout: true},
	} {
		inTime(t, name, func(t *testing.T) {
			l := one(t, c.opts)
			p := attempttest.Acquire(t, l.Limiter)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			if c.before != nil {
				c.before(l, cancel)
			}
			tr := limited(base(func(*http.Request) (*http.Response, error) { panic("sent") }), l.Limiter)
			req, body := get(ctx, anyURL), newSent()
			req.Body = body
			resp, err := tr.RoundTrip(req)
			assert.Nil(t, resp)
			var story *attempt.Error
			require.ErrorAs(t, err, &story)
			require.ErrorIs(t, err, c.want)
			assert.True(t, verdict.NotSent(story))
			assert.Equal(t, c.timeout, story.Timeout())
			assert.Equal(t, c.timeout, strings.Contains(err.Error(), "waited 1m0s in the queue, place 1 of 1, window 1"), err)
			assert.True(t, body.closed.Load(), "a RoundTripper closes the body of the request on errors too")
			l.held(1) // so the impatience in the queue does not narrow the window
			p.End(context.Canceled)
			l.ended(window.Neutral)
		})
	}
}

// The base gets the request as it is, but for the context, which says that it has a slot. The request of
// the answer is the caller's.
func TestTheRequestIsHandedOnAsItIs(t *testing.T) {
	l := one(t, aimd.Config{})
	req := get(t.Context(), anyURL)
	before := *req
	var got *http.Request
	resp, err := limited(base(func(r *http.Request) (*http.Response, error) {
		got = r
		_, err := l.Acquire(r.Context())
		assert.ErrorContains(t, err, "within an attempt")
		return answers(200, nil, http.NoBody)(r)
	}), l.Limiter).RoundTrip(req)
	require.NoError(t, err)
	l.ended(window.Success)
	assert.Equal(t, req, got.WithContext(req.Context()))
	assert.Equal(t, before, *req)
	assert.Equal(t, http.NoBody, resp.Body)
	assert.Same(t, req, resp.Request)
}

// idler is a base with idle connections.
type idler struct {
	base
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

func TestCloseIdleConnectionsIsForwarded(t *testing.T) {
	var i idler
	(&http.Client{Transport: limited(&i, narrow(t, aimd.Config{}))}).CloseIdleConnections()
	assert.Equal(t, 1, i.closed)
	(&http.Client{Transport: newRetrier(t, &i, retry.Config{})}).CloseIdleConnections()
	assert.Equal(t, 2, i.closed)
	limited(empty, narrow(t, aimd.Config{})).CloseIdleConnections() // a base without any
}

// "The zero value sends nothing: each request fails, since it has no Limiter."
func TestATransportWithoutALimiter(t *testing.T) {
	none := func(*http.Request) (*aimd.Limiter, error) { return nil, nil }
	for tr, want := range map[*httplimit.Transport]string{
		{}:                      "Transport.Limiter: nil is not allowed, want either Limiter or Of",
		{Base: empty, Of: none}: "what Transport.Of returned: nil is not allowed",
		{Limiter: narrow(t, aimd.Config{}), Of: none}: "Transport.Of: a function is not allowed, want either Limiter or Of",
	} {
		req, body := get(t.Context(), anyURL), newSent()
		req.Body = body
		_, err := tr.RoundTrip(req)
		require.EqualError(t, err, "gave up before the first attempt: httplimit: "+want)
		assert.True(t, body.closed.Load())
	}
}

// "Read gets each answer as package answer reads it. It returns the answer, or another reading of a service that
// you know better": for the limiter, a Client, and a retrier above. The answer itself stays as it is.
func TestAnswersAreReadAsTheServiceMeansThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := watch(t, aimd.Config{})
		var statuses []int
		tr := limited(base(func(r *http.Request) (*http.Response, error) {
			status := statuses[0]
			statuses = statuses[1:]
			return answers(status, http.Header{"Content-Type": {"text/html"}, "X-Busy": {"yes"}, "Retry-After": {"1"}}, text("hello"))(r)
		}), l.Limiter)
		tr.Read = func(a answer.Answer) answer.Answer {
			if a.Status == http.StatusForbidden || a.Status == http.StatusOK && a.Header["X-Busy"] != nil {
				return a.As(answer.Refused)
			}
			return a
		}
		for _, rt := range []http.RoundTripper{tr.Client().Transport, newRetrier(t, tr, retry.Config{})} {
			statuses = []int{403, 200, 204}
			resp, err := rt.RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			require.Equal(t, http.StatusNoContent, resp.StatusCode)
			l.ended(window.Overload)
			l.ended(window.Overload)
			l.ended(window.Success)
		}
		statuses = []int{403}
		resp, err := tr.RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "hello", string(body))
		l.ended(window.Overload)
	})
}

// byDefault makes a round tripper the default one until the test ends.
func byDefault(t *testing.T, rt http.RoundTripper) {
	kept := http.DefaultTransport
	http.DefaultTransport = rt
	t.Cleanup(func() { http.DefaultTransport = kept })
}

// A nil base is a copy of the default transport: 1920 requests at a window of 32 use 32 connections, since as many
// stay open between the requests. A default that is no http.Transport is used as it is.
func TestConnectionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pipe(t, http.HandlerFunc(service))
		to := s.Client().Transport.(*http.Transport).DialContext
		var dials atomic.Int32
		byDefault(t, &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return to(ctx, network, addr)
		}})
		l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 32, MaxWindow: 32})
		client := httplimit.NewClient(l)
		defer client.CloseIdleConnections()
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				for range 60 {
					time.Sleep(time.Millisecond) // all answers are read, and the connections idle
					assert.NoError(t, fetch(t.Context(), client, s.URL, "hello"))
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1920, l.Snapshot().Successes)
		require.LessOrEqual(t, dials.Load(), int32(32))
	})
	byDefault(t, empty)
	resp, err := httplimit.NewClient(narrow(t, aimd.Config{})).Do(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
}

// broken is a body that cannot be read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return nil }

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

// switched sends a request that becomes a connection, and checks that the connection works.
func switched(t *testing.T, rt http.RoundTripper, ctx context.Context, url string) (io.ReadWriteCloser, *bufio.Reader) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	req := get(ctx, url)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	cancel() // the connection outlives it, and so does the slot
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	conn, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok, "the body of a 101 is an io.ReadWriteCloser")
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "hello\n", line)
	return conn, r
}

func TestSwitchingProtocols(t *testing.T) {
	l := one(t, aimd.Config{})
	s := serve(t, upgrade(t))
	conn, r := switched(t, limited(s.Client().Transport, l.Limiter), t.Context(), s.URL)
	half, ok := conn.(interface{ CloseWrite() error })
	require.True(t, ok)
	require.NoError(t, half.CloseWrite())
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "bye\n", line)
	l.held(1)
	require.NoError(t, conn.Close())
	l.ended(window.Success)
}

// A reverse proxy asks for more of a body, and of a writer, than most: the upgrade goes through a Transport,
// and through a handler of package admission at either end.
func TestUpgradeThroughAReverseProxy(t *testing.T) {
	l := one(t, aimd.Config{})
	c, err := admission.New(admission.Fixed(2), admission.Config{})
	require.NoError(t, err)
	handler := func(next http.Handler) http.Handler {
		h, err := admission.NewHandler(next, c, admission.HandlerConfig{})
		require.NoError(t, err)
		return h
	}
	service := serve(t, handler(upgrade(t)))
	target, err := url.Parse(service.URL)
	require.NoError(t, err)
	s := serve(t, handler(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: limited(service.Client().Transport, l.Limiter),
	}))
	conn, _ := switched(t, s.Client().Transport, t.Context(), s.URL)
	require.Zero(t, c.Snapshot().InFlight, "a connection of another protocol has no place")
	l.held(1)
	require.NoError(t, conn.Close())
	<-l.outcomes
}

// rwc is a connection without CloseWrite.
type rwc struct{ io.ReadWriter }

func (rwc) Close() error { return nil }

// Only with status 101 is a body that can be written to a connection. A connection outlives the context,
// which often has the deadline of the handshake. Another body does not.
func TestABodyWithAWriteMethod(t *testing.T) {
	for status, want := range map[int]window.Outcome{101: window.Success, 200: window.Success, 503: window.Overload} {
		l := one(t, aimd.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		reset := broken{&net.OpError{Op: "read", Err: syscall.ECONNRESET}}
		resp, err := limited(answers(status, nil, rwc{struct {
			io.Reader
			io.Writer
		}{reset, new(bytes.Buffer)}}), l.Limiter).RoundTrip(get(ctx, anyURL))
		require.NoError(t, err)
		l.held(1)
		cancel()
		if half, ok := resp.Body.(interface{ CloseWrite() error }); assert.Equal(t, status == 101, ok) && ok {
			assert.ErrorIs(t, half.CloseWrite(), errors.ErrUnsupported)
			l.held(1)
			_, err = resp.Body.Read(make([]byte, 1))
			require.ErrorIs(t, err, reset.err)
		}
		l.ended(want)
		require.NoError(t, resp.Body.Close())
	}
}

var refusedDial error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
