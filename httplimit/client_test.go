package httplimit_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/body"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/tag"
)

// What is sent again, and what is not: the caller gets the last answer as it came. A POST after a 429 was
// not done. After a 503 Resend503 says so.
func TestWhatAClientSendsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		method, body string
		sent, header http.Header
		status       int
		ctx          bool
		resend       bool
		want         int
		after        time.Duration
	}{
		"GET":                                {method: "GET", status: 503, want: 200},
		"PUT with its body":                  {method: "PUT", body: "payload", status: 500, want: 200},
		"POST":                               {method: "POST", body: "payload", status: 503, want: 503},
		"POST with a key":                    {method: "POST", body: "payload", sent: http.Header{"Idempotency-Key": {"1"}}, status: 503, want: 200},
		"POST by its context":                {method: "POST", body: "payload", ctx: true, status: 503, want: 200},
		"GET of what is not":                 {method: "GET", status: 404, want: 404},
		"GET without a quota":                {method: "GET", status: 402, want: 402},
		"GET, later":                         {method: "GET", status: 429, header: http.Header{"Retry-After": {"30"}}, want: 200, after: 30 * time.Second},
		"POST, 429":                          {method: "POST", body: "payload", status: 429, want: 200},
		"POST, a 429 that forbids it":        {method: "POST", body: "payload", status: 429, header: http.Header{"X-Should-Retry": {"false"}}, want: 429},
		"POST, later":                        {method: "POST", body: "payload", status: 503, header: http.Header{"Retry-After": {"1"}}, want: 503},
		"POST, later, Resend503":             {method: "POST", body: "payload", status: 503, header: http.Header{"Retry-After": {"1"}}, resend: true, want: 200, after: time.Second},
		"POST, nginx's limit_req, Resend503": {method: "POST", body: "payload", status: 503, resend: true, want: 200},
		"POST, a 500, later, Resend503":      {method: "POST", body: "payload", status: 500, header: http.Header{"Retry-After": {"1"}}, resend: true, want: 500},
	} {
		inTime(t, name, func(t *testing.T) {
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
			tr := limited(s.Client().Transport, l)
			tr.Resend503 = c.resend
			resp, err := tr.Client().Do(req)
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
	}
}

// What a Client does not send: a request whose body it could not send again is sent once, and after the end of
// the limiter none.
func TestWhatAClientSendsOnce(t *testing.T) {
	l, sent := narrow(t, aimd.Config{}), 0
	client := clientOn(base(func(r *http.Request) (*http.Response, error) {
		sent++
		return answers(503, nil, http.NoBody)(r)
	}), l)
	req, body := get(t.Context(), anyURL), newSent()
	req.Method, req.Body = http.MethodPut, body
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, 1, sent)
	l.Close()
	_, err = client.Do(get(t.Context(), anyURL))
	require.ErrorIs(t, err, aimd.ErrClosed)
	require.Equal(t, 1, sent)
}

// resenders are the two round trippers that send again.
var resenders = map[string]func(*testing.T, http.RoundTripper, *aimd.Limiter) http.RoundTripper{
	"Client": func(_ *testing.T, b http.RoundTripper, l *aimd.Limiter) http.RoundTripper {
		return clientOn(b, l).Transport
	},
	"Retrier": func(t *testing.T, b http.RoundTripper, l *aimd.Limiter) http.RoundTripper {
		return newRetrier(t, limited(b, l), retry.Config{})
	},
}

// A wrong port: a Client says so within 10 s, and a retrier after three attempts.
func TestAWrongPortIsTold(t *testing.T) {
	for name, of := range resenders {
		inTime(t, name, func(t *testing.T) {
			dials, start := 0, time.Now()
			_, err := of(t, base(func(*http.Request) (*http.Response, error) {
				dials++
				return nil, refusedDial
			}), narrow(t, aimd.Config{})).RoundTrip(get(t.Context(), anyURL))
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			require.Equal(t, name == "Client", errors.Is(err, aimd.ErrNeverAnswered))
			var story *attempt.Error
			require.ErrorAs(t, err, &story)
			require.Equal(t, dials, story.Attempts, "%v", err)
			require.LessOrEqual(t, time.Since(start), 10*time.Second)
		})
	}
}

// A tagger above what sends again keeps the number of the attempt, whatever the caller's header says of the request
// of which it is a part.
func TestATaggerAboveWhatSendsAgain(t *testing.T) {
	for name, of := range resenders {
		for _, first := range []string{"", "1"} {
			inTime(t, name+first, func(t *testing.T) {
				var attempts []string
				tagger, err := tag.NewTagger(of(t, base(func(r *http.Request) (*http.Response, error) {
					status := http.StatusOK
					if attempts = append(attempts, r.Header.Get("Aimd-Attempt")); len(attempts) < 3 {
						status = http.StatusServiceUnavailable
					}
					return answers(status, nil, http.NoBody)(r)
				}), narrow(t, aimd.Config{})), "photos", "2.1")
				require.NoError(t, err)
				req := get(t.Context(), anyURL)
				if first != "" {
					req.Header.Set("Aimd-Attempt", first)
				}
				before := req.Header.Clone()
				resp, err := tagger.RoundTrip(req)
				require.NoError(t, err)
				require.Equal(t, 200, resp.StatusCode)
				require.Equal(t, []string{first, "2", "3"}, attempts)
				require.Equal(t, before, req.Header, "the caller's is as it was")
			})
		}
	}
}

// A transport's error is no answer, whatever it says: a connection that the server closed. So it is not taken for
// the first contact.
func TestAnErrorOfTheTransportIsNoContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := limited(base(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("http: server closed idle connection")
		}), narrow(t, aimd.Config{}))
		var err error
		for range 11 {
			_, err = tr.RoundTrip(get(t.Context(), anyURL))
			require.Error(t, err)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, err, aimd.ErrNeverAnswered)
	})
}

// A panic in what makes the body of the next attempt is the caller's. The slot is free.
func TestAPanicOfGetBodyKeepsNoSlot(t *testing.T) {
	for _, of := range resenders {
		synctest.Test(t, func(t *testing.T) {
			l := narrow(t, aimd.Config{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, anyURL, strings.NewReader("x"))
			require.NoError(t, err)
			req.GetBody = func() (io.ReadCloser, error) { panic("GetBody") }
			require.PanicsWithValue(t, "GetBody", func() { _, _ = of(t, answers(503, nil, http.NoBody), l).RoundTrip(req) })
			require.Zero(t, l.Snapshot().InFlight)
		})
	}
}

// A refusal whose body does not end is closed after a quarter of a second, whether it was looked at or not. The next
// attempt begins once that has ended the one before: run it with -race.
func TestAfterARefusalThatDrips(t *testing.T) {
	for _, kind := range []string{"text/plain", "application/json"} {
		for name, of := range resenders {
			inTime(t, name+" "+kind, func(t *testing.T) {
				calls := 0
				s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if calls++; calls > 1 {
						return
					}
					w.Header().Set("Content-Type", kind)
					w.WriteHeader(http.StatusTooManyRequests)
					for r.Context().Err() == nil {
						_, _ = io.WriteString(w, "x")
						_ = http.NewResponseController(w).Flush()
						time.Sleep(50 * time.Millisecond)
					}
				}))
				l := narrow(t, aimd.Config{})
				start := time.Now()
				resp, err := of(t, s.Client().Transport, l).RoundTrip(get(t.Context(), s.URL))
				require.NoError(t, err)
				require.Equal(t, 200, resp.StatusCode)
				require.LessOrEqual(t, time.Since(start), 2*time.Second)
				if name == "Client" { // it has no backoff here
					require.Equal(t, body.MostTime, time.Since(start), "the rest is awaited once")
				}
				require.NoError(t, resp.Body.Close())
				require.Zero(t, l.Snapshot().InFlight)
			})
		}
	}
}

// Without a deadline on the request, Get returns nevertheless, with the last answer. A deadline, or the
// limiter's policy, decides in its place.
func TestAClientHasABound(t *testing.T) {
	policy, err := retry.New(retry.Config{MaxAttempts: 2})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		opts        aimd.Config
		deadline    time.Duration
		least, most time.Duration
		calls       int // 0: any number
	}{
		"no deadline": {least: 15 * time.Minute, most: 21 * time.Minute},
		"a deadline":  {deadline: time.Hour, least: 54 * time.Minute, most: time.Hour},
		"a policy":    {opts: aimd.Config{Policy: policy}, most: time.Minute, calls: 2},
		"attempts":    {opts: aimd.Config{MaxAttempts: 3}, most: time.Minute, calls: 3},
	} {
		inTime(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if c.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
			}
			defer cancel()
			start, calls := time.Now(), 0
			resp, err := clientOn(base(func(r *http.Request) (*http.Response, error) {
				calls++
				return answers(503, nil, http.NoBody)(r)
			}), narrow(t, c.opts)).Do(get(ctx, anyURL))
			require.True(t, c.calls == 0 || c.calls == calls, calls)
			require.LessOrEqual(t, time.Since(start), c.most)
			require.GreaterOrEqual(t, time.Since(start), c.least)
			require.True(t, err == nil && resp.StatusCode == 503 || errors.Is(err, context.DeadlineExceeded), err)
		})
	}
}

// A request that failed waited for its next slot for ever, if nobody gave one back. What never failed waits on: bulk
// work loses nothing.
func TestAWaitForAnAttemptMoreHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := narrow(t, aimd.Config{})
		failed := make(chan struct{})
		client := clientOn(base(func(r *http.Request) (*http.Response, error) {
			close(failed)
			return answers(500, nil, http.NoBody)(r)
		}), l)
		start, ends := time.Now(), make(chan error, 1)
		go func() {
			_, err := client.Do(get(t.Context(), anyURL))
			ends <- err
		}()
		<-failed
		p := attempttest.Acquire(t, l)
		first := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := client.Do(get(ctx, anyURL))
			first <- err
		}()
		require.ErrorContains(t, <-ends, "gave up after 1 attempt: httplimit: the request has no deadline, and was sent again for 15 minutes, or waited for 20")
		require.Equal(t, 20*time.Minute, time.Since(start))
		time.Sleep(time.Hour)
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		require.EqualValues(t, 1, l.Snapshot().Attempts)
		p.End(nil)
	})
}
