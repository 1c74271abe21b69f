package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// notSent sends a request that must get no slot, and returns why.
func notSent(t *testing.T, l watched, ctx context.Context) *attempt.Error {
	t.Helper()
	tr := httplimit.New(base(func(*http.Request) (*http.Response, error) {
		t.Error("sent")
		return nil, errors.New("sent")
	}), l.Limiter)
	req, body := get(ctx, anyURL), newSent()
	req.Body = body
	resp, err := tr.RoundTrip(req)
	assert.Nil(t, resp)
	var e *attempt.Error
	require.ErrorAs(t, err, &e)
	assert.True(t, e.NotSent())
	assert.True(t, body.closed.Load(), "a RoundTripper closes the request's body also on errors")
	return e
}

func TestNotSent(t *testing.T) {
	t.Run("the context is over already", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e := notSent(t, one(t), ctx)
		assert.ErrorIs(t, e, context.Canceled)
		assert.False(t, e.Timeout())
	})
	t.Run("the limiter is closed", func(t *testing.T) {
		l := one(t)
		l.Close()
		assert.ErrorIs(t, notSent(t, l, t.Context()), limiter.ErrClosed)
	})
	t.Run("the queue is full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := one(t, aimd.WithQueueBound(1))
			p, err := l.Acquire(t.Context())
			require.NoError(t, err)
			first := async(func() error {
				next, err := l.Acquire(t.Context())
				_ = next.Done(window.Neutral)
				return err
			})
			l.waiting(1)
			assert.ErrorIs(t, notSent(t, l, t.Context()), attempt.ErrQueueFull)
			require.NoError(t, p.Done(window.Neutral))
			require.NoError(t, <-first)
			l.ended(window.Neutral)
			l.ended(window.Neutral)
		})
	})
}

func TestNotSentBecauseTheContextEndedInTheQueue(t *testing.T) {
	mine := errors.New("mine")
	for _, c := range []struct {
		name    string
		end     func(*testing.T) (context.Context, func())
		want    error
		timeout bool
	}{
		{"cancelled", func(t *testing.T) (context.Context, func()) {
			return context.WithCancel(t.Context())
		}, context.Canceled, false},
		{"cancelled with a cause", func(t *testing.T) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(t.Context())
			return ctx, func() { cancel(mine) }
		}, mine, false},
		{"deadline", func(*testing.T) (context.Context, func()) {
			ctx := newTerm(time.Now().Add(time.Hour))
			return ctx, func() { ctx.end(context.DeadlineExceeded) }
		}, context.DeadlineExceeded, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := one(t)
				p, err := l.Acquire(t.Context())
				require.NoError(t, err)
				ctx, end := c.end(t)
				defer func() { require.NoError(t, p.Done(window.Neutral)); l.ended(window.Neutral) }()
				go func() { l.waiting(1); end() }()
				e := notSent(t, l, ctx)
				assert.ErrorIs(t, e, c.want)
				assert.Equal(t, c.timeout, e.Timeout())
				l.held(1)
			})
		})
	}
}

// The impatience of those who wait in a full queue does not narrow the window.
func TestClientTimeoutInTheQueueTellsTheLawNothing(t *testing.T) {
	l := one(t)
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	client := &http.Client{Transport: httplimit.New(answers(200, nil, nil), l.Limiter), Timeout: time.Millisecond}
	_, err = client.Get(anyURL)
	var u *url.Error
	require.ErrorAs(t, err, &u)
	assert.True(t, u.Timeout())
	assert.ErrorContains(t, err, "gave up before the first attempt")
	l.held(1)
	require.NoError(t, p.Done(window.Success))
	l.ended(window.Success)
}

func TestRetriesWaitAtTheFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t, aimd.WithQueueBound(1))
		var order []string
		tr := httplimit.New(base(func(req *http.Request) (*http.Response, error) {
			order = append(order, req.URL.Path) // one slot: one at a time
			return answers(200, nil, http.NoBody)(req)
		}), l.Limiter)
		p, err := l.Acquire(t.Context())
		require.NoError(t, err)
		send := func(ctx context.Context, path string) <-chan error {
			return async(func() error {
				_, err := tr.RoundTrip(get(ctx, anyURL+path))
				return err
			})
		}
		first := send(t.Context(), "new")
		l.waiting(1)
		second := send(attempt.WithRetry(t.Context()), "retry") // the bound does not apply
		l.waiting(2)
		require.NoError(t, p.Done(window.Success))
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		assert.Equal(t, []string{"/retry", "/new"}, order)
		for range 3 {
			l.ended(window.Success)
		}
	})
}

func TestABodyThatIsOpenKeepsOthersWaiting(t *testing.T) {
	for _, p := range inMemory {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := one(t)
				s := p.start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
				client := &http.Client{Transport: httplimit.New(s.Client().Transport, l.Limiter)}
				resp, err := client.Get(s.URL)
				require.NoError(t, err)
				second := async(func() error {
					resp, err := client.Get(s.URL)
					if err != nil {
						return err
					}
					return resp.Body.Close()
				})
				l.waiting(1)
				l.held(1)
				_, err = io.Copy(io.Discard, resp.Body)
				require.NoError(t, err)
				l.ended(window.Success)
				require.NoError(t, <-second)
				l.ended(window.Success)
				require.NoError(t, resp.Body.Close())
			})
		})
	}
}

// async runs f on a goroutine of its own.
func async(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}
