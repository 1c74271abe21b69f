package httplimit_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
)

// clientOn is httplimit.Client over that base.
func clientOn(base http.RoundTripper, l *aimd.Limiter, opts ...httplimit.Option) *http.Client {
	return httplimit.Client(l, append(opts, httplimit.Base(base))...)
}

// narrow is a limiter with one slot that nobody watches.
func narrow(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	config.Law, config.InitialWindow, config.MaxWindow = aimd.Reno(0.5), 1, 1
	l, err := aimd.New(config)
	require.NoError(t, err)
	return l
}

// What is sent again, and what is not: the caller gets the last answer as it came. A POST after a 429 was
// not done. After a 503 an option says so.
func TestWhatAClientSendsAgain(t *testing.T) {
	resend := []httplimit.Option{httplimit.ResendUnavailable()}
	for name, c := range map[string]struct {
		method, body string
		sent, header http.Header
		status       int
		ctx          bool
		opts         []httplimit.Option
		want         int
		after        time.Duration
	}{
		"GET":                          {method: "GET", status: 503, want: 200},
		"PUT with its body":            {method: "PUT", body: "payload", status: 500, want: 200},
		"POST":                         {method: "POST", body: "payload", status: 503, want: 503},
		"POST with a key":              {method: "POST", body: "payload", sent: http.Header{"Idempotency-Key": {"1"}}, status: 503, want: 200},
		"POST by its context":          {method: "POST", body: "payload", ctx: true, status: 503, want: 200},
		"GET of what is not":           {method: "GET", status: 404, want: 404},
		"GET without a quota":          {method: "GET", status: 402, want: 402},
		"GET, later":                   {method: "GET", status: 429, header: http.Header{"Retry-After": {"30"}}, want: 200, after: 30 * time.Second},
		"POST, 429":                    {method: "POST", body: "payload", status: 429, want: 200},
		"POST, a 429 that forbids it":  {method: "POST", body: "payload", status: 429, header: http.Header{"X-Should-Retry": {"false"}}, want: 429},
		"POST, later":                  {method: "POST", body: "payload", status: 503, header: http.Header{"Retry-After": {"1"}}, want: 503},
		"POST, later, with the option": {method: "POST", body: "payload", status: 503, header: http.Header{"Retry-After": {"1"}}, opts: resend, want: 200, after: time.Second},
		"POST, nginx's limit_req, with the option": {method: "POST", body: "payload", status: 503, opts: resend, want: 200},
		"POST, a 500, later, with the option":      {method: "POST", body: "payload", status: 500, header: http.Header{"Retry-After": {"1"}}, opts: resend, want: 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got, err := io.ReadAll(r.Body)
					assert.NoError(t, err)
					assert.Equal(t, c.body, string(got))
					if calls++; calls == 1 {
						maps.Copy(w.Header(), c.header)
						http.Error(w, "the first", c.status)
					}
				}))
				l := narrow(t, aimd.Config{})
				ctx := t.Context()
				if c.ctx {
					ctx = retry.WithIdempotent(ctx)
				}
				req, err := http.NewRequestWithContext(ctx, c.method, s.URL, strings.NewReader(c.body))
				require.NoError(t, err)
				maps.Copy(req.Header, c.sent)
				start := time.Now()
				resp, err := clientOn(s.Client().Transport, l, c.opts...).Do(req)
				require.NoError(t, err)
				require.Equal(t, c.want, resp.StatusCode)
				require.Same(t, req, resp.Request)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				if c.want != 200 {
					require.Equal(t, "the first\n", string(text))
				}
				require.GreaterOrEqual(t, time.Since(start), c.after)
				require.Zero(t, l.Snapshot().InFlight)
			})
		})
	}
}

// A wrong port: Transport, Client and Retrier say so within 10 s.
func TestAWrongPortIsTold(t *testing.T) {
	var dials atomic.Int32
	nobody := base(func(*http.Request) (*http.Response, error) {
		dials.Add(1)
		return nil, refusedDial
	})
	endless := func(t *testing.T, l *aimd.Limiter) http.RoundTripper {
		return newRetrier(t, httplimit.New(nobody, l), retry.Config{MaxAttempts: -1})
	}
	for name, of := range map[string]func(*testing.T, *aimd.Limiter) http.RoundTripper{
		"Client":  func(t *testing.T, l *aimd.Limiter) http.RoundTripper { return clientOn(nobody, l).Transport },
		"Retrier": endless,
		"a loop around a Transport": func(_ *testing.T, l *aimd.Limiter) http.RoundTripper {
			return base(func(r *http.Request) (*http.Response, error) {
				for {
					resp, err := httplimit.New(nobody, l).RoundTrip(r)
					if !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, attempt.ErrNoContact) {
						return resp, err
					}
					time.Sleep(time.Second)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
				require.NoError(t, err)
				rt := of(t, l)
				start := time.Now()
				_, err = rt.RoundTrip(get(t.Context(), anyURL))
				require.ErrorIs(t, err, attempt.ErrNoContact)
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				var story *attempt.Error
				require.ErrorAs(t, err, &story)
				if made := dials.Swap(0); name != "a loop around a Transport" { // which makes them of its own
					require.Equal(t, made, int32(story.Attempts), "%v", err)
				}
				if name != "Retrier" { // whose policy has delays of its own
					require.LessOrEqual(t, time.Since(start), 10*time.Second)
				}
			})
		})
	}
}

// A Tagger above what retries keeps the number of the attempt.
func TestATaggerAboveARetrier(t *testing.T) {
	for name, below := range map[string]func(*testing.T, http.RoundTripper) http.RoundTripper{
		"Retrier": func(t *testing.T, b http.RoundTripper) http.RoundTripper { return newRetrier(t, b, retry.Config{}) },
		"Client": func(t *testing.T, b http.RoundTripper) http.RoundTripper {
			return clientOn(b, narrow(t, aimd.Config{})).Transport
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts []string
				var headers []http.Header
				tagger, err := httplimit.NewTagger(below(t, base(func(r *http.Request) (*http.Response, error) {
					attempts, headers = append(attempts, r.Header.Get("Aimd-Attempt")), append(headers, r.Header)
					status := http.StatusOK
					if len(attempts) < 3 {
						status = http.StatusServiceUnavailable
					}
					return answers(status, nil, http.NoBody)(r)
				})), "photos", "2.1")
				require.NoError(t, err)
				req := get(t.Context(), anyURL)
				resp, err := tagger.RoundTrip(req)
				require.NoError(t, err)
				require.Equal(t, 200, resp.StatusCode)
				require.Equal(t, []string{"", "2", "3"}, attempts)
				require.Empty(t, req.Header, "the caller's is as it was")
				require.Empty(t, headers[0].Get("Aimd-Attempt"), "and so is the tagger's")
			})
		})
	}
}

// A transport's error is no answer, whatever it says: a TLS that does not fit, a connection that the
// server closed. So it is not taken for the first contact.
func TestAnErrorOfTheTransportIsNoContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := []error{errors.New("http: server closed idle connection"), io.EOF}
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
		require.NoError(t, err)
		tr := httplimit.New(base(func(*http.Request) (*http.Response, error) {
			failures = append(failures[1:], failures[0])
			return nil, failures[0]
		}), l)
		for range 11 {
			_, err = tr.RoundTrip(get(t.Context(), anyURL))
			require.Error(t, err)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, err, attempt.ErrNoContact)
	})
}

// A panic in what makes the body of the next attempt is the caller's. The slot is free.
func TestAPanicOfGetBodyKeepsNoSlot(t *testing.T) {
	for name, below := range map[string]func(*testing.T, http.RoundTripper, *aimd.Limiter) http.RoundTripper{
		"Client": func(t *testing.T, b http.RoundTripper, l *aimd.Limiter) http.RoundTripper {
			return clientOn(b, l).Transport
		},
		"Retrier": func(t *testing.T, b http.RoundTripper, l *aimd.Limiter) http.RoundTripper {
			return newRetrier(t, httplimit.New(b, l), retry.Config{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := narrow(t, aimd.Config{})
				rt := below(t, answers(503, nil, http.NoBody), l)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, anyURL, strings.NewReader("x"))
				require.NoError(t, err)
				req.GetBody = func() (io.ReadCloser, error) { panic("GetBody") }
				require.PanicsWithValue(t, "GetBody", func() { _, _ = rt.RoundTrip(req) })
				require.Zero(t, l.Snapshot().InFlight)
			})
		})
	}
}

// A refusal whose body does not end is closed after a quarter of a second. The next attempt begins once
// that has ended the one before: run it with -race.
func TestAfterARefusalThatDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls > 1 {
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		}))
		l := narrow(t, aimd.Config{})
		start := time.Now()
		resp, err := clientOn(s.Client().Transport, l).Get(s.URL)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		require.LessOrEqual(t, time.Since(start), time.Second)
		require.NoError(t, resp.Body.Close())
		require.Zero(t, l.Snapshot().InFlight)
	})
}

// Without a deadline on the request, Get returns all the same, with the last answer. A deadline, or the
// limiter's policy, decides in its place.
func TestAClientHasABound(t *testing.T) {
	policy, err := retry.New(retry.Config{MaxAttempts: 2})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		opts     aimd.Config
		deadline time.Duration
		least    time.Duration
		most     time.Duration
		calls    int
	}{
		"no deadline": {least: 15 * time.Minute, most: 21 * time.Minute},
		"a deadline":  {deadline: time.Hour, least: 54 * time.Minute, most: time.Hour},
		"a policy":    {opts: aimd.Config{Policy: policy}, most: time.Minute, calls: 2},
		"attempts":    {opts: aimd.Config{Rules: aimd.Rules{MaxAttempts: 3}}, most: time.Minute, calls: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := narrow(t, c.opts)
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				start := time.Now()
				calls := 0
				resp, err := clientOn(base(func(r *http.Request) (*http.Response, error) {
					calls++
					return answers(503, nil, http.NoBody)(r)
				}), l).Do(get(ctx, anyURL))
				if c.calls > 0 {
					require.Equal(t, c.calls, calls)
				}
				if took := time.Since(start); assert.LessOrEqual(t, took, c.most) {
					assert.GreaterOrEqual(t, took, c.least)
				}
				if err == nil {
					require.Equal(t, 503, resp.StatusCode)
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				require.Zero(t, l.Snapshot().InFlight)
			})
		})
	}
}
