package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
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

// hangs is a handler that answers nothing until the client has gone.
var hangs = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })

func TestAServerThatHangsUntilTheClientsTimeout(t *testing.T) {
	for _, p := range inMemory {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := one(t)
				s := p.start(t, hangs)
				client := &http.Client{Transport: httplimit.New(s.Client().Transport, l.Limiter), Timeout: 200 * time.Millisecond}
				_, err := client.Get(s.URL)
				var u *url.Error
				require.ErrorAs(t, err, &u)
				assert.True(t, u.Timeout())
				l.ended(window.Timeout)
			})
		})
	}
}

func TestABodyThatHangsUntilTheClientsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		h, _ := streaming()
		s := pipe(t, h)
		client := &http.Client{Transport: httplimit.New(s.Client().Transport, l.Limiter), Timeout: time.Second}
		resp, err := client.Get(s.URL)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err)
		l.ended(window.Timeout)
		require.NoError(t, resp.Body.Close())
	})
}

func TestABodyThatHangsUntilTheDeadline(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			ctx := newTerm(time.Now().Add(time.Hour))
			resp, _ := open(t, ctx, p, l)
			started := make(chan struct{})
			read := async(func() error {
				close(started)
				_, err := io.ReadAll(resp.Body)
				return err
			})
			<-started
			ctx.end(context.DeadlineExceeded)
			require.ErrorIs(t, <-read, context.DeadlineExceeded)
			<-l.outcomes // Timeout, or Neutral if the deadline came before Read
			require.NoError(t, resp.Body.Close())
		})
	}
}

func TestATimeoutOfTheBaseIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		s := pipe(t, hangs)
		tr := s.Client().Transport.(*http.Transport).Clone()
		defer tr.CloseIdleConnections()
		tr.ResponseHeaderTimeout = 10 * time.Millisecond
		_, err := httplimit.New(tr, l.Limiter).RoundTrip(get(t.Context(), s.URL))
		require.Error(t, err)
		l.ended(window.Timeout)
	})
}

func TestACancellationIsNeutral(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			arrived := make(chan struct{})
			s := p.start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-r.Context().Done()
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			go func() { <-arrived; cancel() }()
			_, err := httplimit.New(s.Client().Transport, l.Limiter).RoundTrip(get(ctx, s.URL))
			require.ErrorIs(t, err, context.Canceled)
			l.ended(window.Neutral)
		})
	}
}

// warden is a guard that keeps what it was told.
type warden struct {
	mu       sync.Mutex
	attempts []int
	outcomes []window.Outcome
	refuse   error
}

func (w *warden) Admit(_ context.Context, attempt int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return w.refuse
	}
	w.attempts = append(w.attempts, attempt)
	return nil
}

func (w *warden) Ended(_ context.Context, o window.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes = append(w.outcomes, o)
}

func (w *warden) told() ([]int, []window.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempts, w.outcomes
}

func TestGuardsHearOfEveryRequest(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for _, c := range []struct {
		name string
		base base
		want window.Outcome
		law  window.Outcome
	}{
		{"200", answers(200, nil, text("hello")), window.Success, window.Success},
		{"404", answers(404, nil, text("hello")), window.ClientError, window.ClientError},
		{"500", answers(500, nil, text("hello")), window.Neutral, window.Neutral},
		{"503", answers(503, nil, text("hello")), window.Overload, window.Overload},
		{"broken off", answers(200, nil, broken{io.ErrUnexpectedEOF}), window.Neutral, window.Neutral},
		{"no answer", func(*http.Request) (*http.Response, error) { return nil, reset }, 0, window.Neutral},
		{"no answer in time", func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }, window.Timeout, window.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w warden
			l := one(t, aimd.WithGuard(&w))
			resp, err := httplimit.New(c.base, l.Limiter).RoundTrip(get(t.Context(), anyURL))
			if err == nil {
				_, outcomes := w.told()
				assert.Empty(t, outcomes, "the attempt ends with the body")
				_, _ = io.ReadAll(resp.Body)
				require.NoError(t, resp.Body.Close())
			}
			l.ended(c.law)
			attempts, outcomes := w.told()
			assert.Equal(t, []int{0}, attempts)
			assert.Equal(t, []window.Outcome{c.want}, outcomes)
		})
	}
}

func TestAGuardRefuses(t *testing.T) {
	mine := errors.New("mine")
	w := &warden{refuse: mine}
	l := one(t, aimd.WithGuard(w))
	e := notSent(t, l, t.Context())
	assert.ErrorIs(t, e, mine)
	assert.True(t, e.NotSent())
	l.held(0)
	_, outcomes := w.told()
	assert.Empty(t, outcomes)
}

// A throttle is a guard of a Transport: a service that answers 503 to background work and 404 to the rest. A 404 is
// accepted.
func TestAThrottleInTheDoor(t *testing.T) {
	th, err := throttle.New(throttle.Config{})
	require.NoError(t, err)
	l, err := aimd.NewReno(aimd.WithGuard(th), aimd.WithPause(0, -1))
	require.NoError(t, err)
	var mu sync.Mutex
	served := map[string]int{}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/background" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	client := &http.Client{Transport: httplimit.New(s.Client().Transport, l)}
	background := tag.WithCriticality(t.Context(), tag.SheddablePlus)
	throttled := 0
	const each = 300
	for range each {
		for path, ctx := range map[string]context.Context{"/background": background, "/interactive": t.Context()} {
			resp, err := client.Do(get(ctx, s.URL+path))
			if err != nil {
				require.ErrorIs(t, err, throttle.ErrThrottled)
				throttled++
				continue
			}
			resp.Body.Close()
		}
	}
	assert.Equal(t, each, served["/interactive"])
	assert.Equal(t, each, served["/background"]+throttled)
	assert.Greater(t, throttled, each/2)
	requests, accepts, _ := th.Counts(tag.Critical)
	assert.Equal(t, [2]int{each, each}, [2]int{requests, accepts})
	assert.Zero(t, l.Snapshot().InFlight)
}
