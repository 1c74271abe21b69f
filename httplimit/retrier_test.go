package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
)

func newRetrier(t *testing.T, b http.RoundTripper, c retry.Config) http.RoundTripper {
	t.Helper()
	p, err := retry.New(c)
	require.NoError(t, err)
	r, err := httplimit.NewRetrier(b, p)
	require.NoError(t, err)
	return r
}

// tracked is a body that knows how much of it was read, and whether it was closed.
type tracked struct {
	io.Reader
	read   atomic.Int64
	closed atomic.Bool
}

func (b *tracked) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *tracked) Close() error {
	b.closed.Store(true)
	return nil
}

// script is a base that answers with these statuses in turn (0: the connection is reset), each with a
// body of its own, and closes the bodies of requests.
type script struct {
	statuses []int
	header   http.Header
	length   int64
	bodies   []*tracked
	payloads []string
	requests []*http.Request
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	n := len(s.requests)
	s.requests = append(s.requests, req)
	if req.Body != nil {
		payload, _ := io.ReadAll(req.Body)
		req.Body.Close()
		s.payloads = append(s.payloads, string(payload))
	}
	status := s.statuses[min(n, len(s.statuses)-1)]
	if status == 0 {
		return nil, syscall.ECONNRESET
	}
	body := &tracked{Reader: io.LimitReader(endless{}, max(s.length, 5))}
	s.bodies = append(s.bodies, body)
	return answers(status, s.header, body)(req)
}

// endless is a reader that goes on.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A retrier goes by the method, and sends the body again. The caller gets the last answer as it came.
func TestARetrierGoesByTheMethod(t *testing.T) {
	key := http.Header{"Idempotency-Key": {"1"}}
	for _, c := range []struct {
		method string
		header http.Header
		mark   bool
		want   int
	}{
		{"GET", nil, false, 3}, {"HEAD", nil, false, 3}, {"OPTIONS", nil, false, 3}, {"TRACE", nil, false, 3},
		{"PUT", nil, false, 3}, {"DELETE", nil, false, 3}, {"", nil, false, 3},
		{"POST", nil, false, 1}, {"PATCH", nil, false, 1}, {"CONNECT", nil, false, 1}, {"get", nil, false, 1},
		{"POST", key, false, 3}, {"PATCH", http.Header{"X-Idempotency-Key": nil}, false, 3},
		{"POST", nil, true, 3},
	} {
		inTime(t, fmt.Sprint(c.method, c.header, c.mark), func(t *testing.T) {
			ctx := t.Context()
			if c.mark {
				ctx = retry.WithIdempotent(ctx)
			}
			req, err := http.NewRequestWithContext(ctx, "PUT", anyURL, strings.NewReader("payload"))
			require.NoError(t, err)
			req.Method, req.Header = c.method, c.header
			s := &script{statuses: []int{503}}
			resp, err := newRetrier(t, s, retry.Config{}).RoundTrip(req)
			require.NoError(t, err)
			assert.Equal(t, slices.Repeat([]string{"payload"}, c.want), s.payloads)
			for i, r := range s.requests {
				assert.True(t, c.want == 1 || attempt.Number(r.Context()) == i+1)
			}
			assert.Equal(t, c.header, req.Header, "a RoundTripper changes no request")
			assert.Equal(t, 503, resp.StatusCode)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Len(t, body, 5, "its body unread")

			req, err = http.NewRequestWithContext(ctx, "PUT", anyURL, http.NoBody)
			require.NoError(t, err)
			req.Method, req.Header = c.method, c.header
			resp, err = newRetrier(t, &script{statuses: []int{0}}, retry.Config{}).RoundTrip(req)
			require.ErrorIs(t, err, syscall.ECONNRESET)
			assert.Equal(t, c.want == 1, errors.Is(err, retry.ErrNotIdempotent))
			assert.Nil(t, resp)
		})
	}
}

// Only when the body can be rewound. TestWhatAClientSendsOnce has one that cannot.
func TestARetrierDoesNotSendABodyThatItCannotSendAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, body, mine := &script{statuses: []int{503}}, newSent(), errors.New("gone")
		req := get(t.Context(), anyURL)
		req.Method, req.Body = "PUT", body
		_, err := newRetrier(t, s, retry.Config{}).RoundTrip(req)
		require.NoError(t, err)
		assert.Len(t, s.requests, 1)
		assert.True(t, body.closed.Load())

		req.Body, req.GetBody = newSent(), func() (io.ReadCloser, error) { return nil, mine }
		_, err = newRetrier(t, s, retry.Config{}).RoundTrip(req)
		require.ErrorIs(t, err, mine)
		assert.Len(t, s.requests, 2)
		assert.True(t, s.bodies[1].closed.Load())
	})
}

// "Drains and closes bodies", within bounds, before the delay.
func TestARetrierDropsTheAnswersThatAreNotTheLast(t *testing.T) {
	for _, length := range []int64{5, 100, 64 << 10, 10 << 20} {
		synctest.Test(t, func(t *testing.T) {
			// The Transport looks at no page, so it is the retrier that reads it.
			s := &script{statuses: []int{503}, length: length, header: http.Header{"Content-Type": {"text/html"}}}
			closed := 0
			r := newRetrier(t, base(func(req *http.Request) (*http.Response, error) {
				for _, b := range s.bodies {
					require.True(t, b.closed.Load(), "closed before the next attempt")
					require.LessOrEqual(t, b.read.Load(), int64(64<<10+512))
					require.GreaterOrEqual(t, b.read.Load(), min(length, 64<<10))
					closed++
				}
				return s.RoundTrip(req)
			}), retry.Config{})
			resp, err := r.RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			require.Equal(t, 1+2, closed)
			require.False(t, s.bodies[2].closed.Load(), "the last is the caller's")
			all, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Len(t, all, int(length))
			require.NoError(t, resp.Body.Close())
		})
	}
}

// However it gives up, the caller gets the answer if there is one.
func TestARetrierGivesUp(t *testing.T) {
	budget, err := retry.NewBudget(retry.BudgetConfig{Floor: -1})
	require.NoError(t, err)
	spent := retry.Config{Guards: []attempt.Guard{budget}}
	later := http.Header{"Retry-After": {"60"}}
	mine := errors.New("mine")
	for name, c := range map[string]struct {
		script script
		config retry.Config
		ends   time.Duration // of the context
		want   []error       // none: the answer
	}{
		"the budget has no retry":                   {script: script{statuses: []int{503}}, config: spent},
		"the same, without an answer":               {script: script{statuses: []int{0}}, config: spent, want: []error{retry.ErrBudget, syscall.ECONNRESET}},
		"the deadline is before the next attempt":   {script: script{statuses: []int{503}, header: later}, ends: time.Second},
		"the caller leaves before the next attempt": {script: script{statuses: []int{503}, header: later}, ends: -time.Second, want: []error{mine}},
	} {
		inTime(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.ends > 0 {
				var stop func()
				ctx, stop = context.WithTimeout(ctx, c.ends)
				defer stop()
			} else if c.ends < 0 {
				time.AfterFunc(-c.ends, func() { cancel(mine) })
			}
			resp, err := newRetrier(t, &c.script, c.config).RoundTrip(get(ctx, anyURL))
			require.Len(t, c.script.requests, 1)
			if len(c.want) == 0 {
				require.NoError(t, err)
				require.Equal(t, 503, resp.StatusCode)
				require.False(t, c.script.bodies[0].closed.Load())
				return
			}
			for _, want := range c.want {
				require.ErrorIs(t, err, want)
			}
			for _, b := range c.script.bodies {
				var status *httplimit.StatusError
				require.ErrorAs(t, err, &status)
				require.True(t, b.closed.Load())
			}
		})
	}
	// A final error of the base is the base's.
	_, err = newRetrier(t, base(func(*http.Request) (*http.Response, error) { return nil, mine }), retry.Config{}).RoundTrip(get(t.Context(), anyURL))
	require.Equal(t, mine, err)
}

func TestARetrierThatIsRefused(t *testing.T) {
	mine := errors.New("mine")
	req, body := get(t.Context(), anyURL), newSent()
	req.Body = body
	_, err := newRetrier(t, &script{}, retry.Config{Guards: []attempt.Guard{&attempttest.Guard{Refuse: mine}}}).RoundTrip(req)
	var e *attempt.Error
	require.ErrorAs(t, err, &e)
	require.True(t, verdict.NotSent(e))
	require.ErrorIs(t, err, mine)
	assert.True(t, body.closed.Load())
}

func TestAnAttemptTimeoutIsNotForARetrier(t *testing.T) {
	p, err := retry.New(retry.Config{AttemptTimeout: time.Second})
	require.NoError(t, err)
	_, err = httplimit.NewRetrier(nil, p)
	require.ErrorContains(t, err, "httplimit: AttemptTimeout: 1s is not allowed")
	_, err = httplimit.NewRetrier(nil, nil)
	require.NoError(t, err)
}

// A POST that found no slot was not sent, and one that was refused with 429 not done: both are sent again.
func TestARetrierSendsWhatWasNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := narrow(t, aimd.Config{QueueBound: 1})
		s := &script{statuses: []int{429, 200}}
		r := newRetrier(t, limited(s, l), retry.Config{})
		p := attempttest.Acquire(t, l)
		go func() {
			p, err := l.Acquire(t.Context())
			assert.NoError(t, err)
			p.End(nil)
		}()
		time.AfterFunc(time.Second, func() { p.End(nil) })
		synctest.Wait() // there is no place in the queue for the POST
		req, err := http.NewRequestWithContext(t.Context(), "POST", anyURL, strings.NewReader("payload"))
		require.NoError(t, err)
		resp, err := r.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, []string{"payload", "payload"}, s.payloads)
		synctest.Wait()
	})
}
