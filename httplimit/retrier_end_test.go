package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// However it gives up, the caller gets the answer if there is one.
func TestARetrierGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, err := retry.NewBudget(retry.BudgetSettings{Floor: -1}, nil)
		require.NoError(t, err)
		spent := retry.Config{Guards: []attempt.Guard{budget}}

		s := &script{statuses: []int{503}}
		resp, err := newRetrier(t, s, spent).RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		assert.Equal(t, 503, resp.StatusCode)
		assert.Len(t, s.requests, 1, "the budget has no retry")
		assert.False(t, s.bodies[0].closed.Load())

		s = &script{statuses: []int{0}}
		_, err = newRetrier(t, s, spent).RoundTrip(get(t.Context(), anyURL))
		require.ErrorIs(t, err, retry.ErrBudget)
		require.ErrorIs(t, err, syscall.ECONNRESET)

		// The next attempt would be after the deadline.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s = &script{statuses: []int{503}, header: http.Header{"Retry-After": {"60"}}}
		resp, err = newRetrier(t, s, retry.Config{}).RoundTrip(get(ctx, anyURL))
		require.NoError(t, err)
		assert.Equal(t, 503, resp.StatusCode)
		assert.False(t, s.bodies[0].closed.Load())

		// The answer was dropped when the caller leaves before the next attempt.
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		s = &script{statuses: []int{503}, header: http.Header{"Retry-After": {"60"}}}
		client := &http.Client{Transport: newRetrier(t, s, retry.Config{})}
		_, err = client.Do(get(ctx, anyURL))
		require.ErrorIs(t, err, context.Canceled)
		var status *httplimit.StatusError
		require.ErrorAs(t, err, &status)
		assert.True(t, s.bodies[0].closed.Load())

		// A final error of the base is the base's.
		mine := errors.New("mine")
		_, err = newRetrier(t, base(func(*http.Request) (*http.Response, error) { return nil, mine }), retry.Config{}).RoundTrip(get(t.Context(), anyURL))
		require.Equal(t, mine, err)
		_, err = newRetrier(t, base(func(*http.Request) (*http.Response, error) { return nil, nil }), retry.Config{}).RoundTrip(get(t.Context(), anyURL))
		require.EqualError(t, err, "httplimit: the base returned neither an answer nor an error")
	})
}

func TestARetrierThatIsRefused(t *testing.T) {
	mine := errors.New("mine")
	req := get(t.Context(), anyURL)
	body := newSent()
	req.Body = body
	_, err := newRetrier(t, &script{}, retry.Config{Guards: []attempt.Guard{&warden{refuse: mine}}}).RoundTrip(req)
	var e *attempt.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.NotSent())
	require.ErrorIs(t, err, mine)
	assert.True(t, body.closed.Load())

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(mine)
	_, err = newRetrier(t, &script{}, retry.Config{}).RoundTrip(get(ctx, anyURL))
	require.ErrorAs(t, err, &e)
	require.True(t, e.NotSent())
	require.ErrorIs(t, err, mine)
}

func TestAnAttemptTimeoutIsNotForARetrier(t *testing.T) {
	p, err := retry.New(retry.Config{AttemptTimeout: time.Second})
	require.NoError(t, err)
	_, err = httplimit.NewRetrier(nil, p)
	require.ErrorContains(t, err, "httplimit: AttemptTimeout: 1s is not allowed")
	_, err = httplimit.NewRetrier(nil, nil)
	require.NoError(t, err)
}

// A POST that found the queue full was not sent, so it may be tried again.
func TestARetrierSendsWhatGotNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t, aimd.WithQueueBound(1))
		s := &script{statuses: []int{200}}
		r := newRetrier(t, httplimit.New(s, l.Limiter), retry.Config{})
		p, err := l.Acquire(t.Context())
		require.NoError(t, err)
		first := async(func() error {
			p, err := l.Acquire(t.Context())
			_ = p.Done(window.Success)
			return err
		})
		synctest.Wait()
		second := async(func() error {
			req, err := http.NewRequestWithContext(t.Context(), "POST", anyURL, bytes.NewReader([]byte("payload")))
			if err != nil {
				return err
			}
			resp, err := r.RoundTrip(req)
			if err != nil {
				return err
			}
			_, err = io.ReadAll(resp.Body)
			return err
		})
		synctest.Wait()
		require.Equal(t, 1, l.Snapshot().Queued, "the POST had no place in the queue")
		time.Sleep(time.Second)
		require.NoError(t, p.Done(window.Success))
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		require.Equal(t, []string{"payload"}, s.payloads)
		for range 3 {
			l.ended(window.Success)
		}
	})
}

// With a limiter, each attempt takes its own slot, none is held in the delay, retries wait at the front, and
// the server is told the number of the attempt.
func TestARetrierAboveATransport(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := watch(t, aimd.WithPause(time.Millisecond, 2*time.Millisecond))
			var mu sync.Mutex
			seen := map[string][]string{}
			s := p.start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				payload, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				seen[r.URL.Path] = append(seen[r.URL.Path], r.Header.Get("Aimd-Attempt")+" "+string(payload))
				if len(seen[r.URL.Path]) < 3 {
					http.Error(w, strings.Repeat("Slow down. ", 100), http.StatusServiceUnavailable)
					return
				}
				_, _ = io.WriteString(w, "hello")
			}))
			tagger, err := httplimit.NewTagger(s.Client().Transport, "test", "1")
			require.NoError(t, err)
			client := &http.Client{Transport: newRetrier(t, httplimit.New(tagger, l.Limiter), retry.Config{
				Backoff: backoff.Exponential{Min: time.Millisecond, Max: 10 * time.Millisecond},
			})}
			const requests = 20
			var all sync.WaitGroup
			for i := range requests {
				all.Go(func() {
					req, err := http.NewRequestWithContext(t.Context(), "PUT", fmt.Sprintf("%s/%d", s.URL, i), strings.NewReader("payload"))
					if !assert.NoError(t, err) {
						return
					}
					resp, err := client.Do(req)
					if !assert.NoError(t, err) {
						return
					}
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					assert.NoError(t, err)
					assert.Equal(t, "hello", string(body))
				})
			}
			all.Wait()
			for path, attempts := range seen {
				assert.Equal(t, []string{"1 payload", "2 payload", "3 payload"}, attempts, path)
			}
			require.Len(t, seen, requests)
			outcomes := map[window.Outcome]int{}
			for range 3 * requests {
				outcomes[<-l.outcomes]++
			}
			assert.Equal(t, map[window.Outcome]int{window.Overload: 2 * requests, window.Success: requests}, outcomes)
		})
	}
}

// A server that goes away in the middle of everything.
func TestARetrierFindsAServerAgain(t *testing.T) {
	var n atomic.Int32
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) < 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "hello")
	}))
	client := &http.Client{Transport: newRetrier(t, s.Client().Transport, retry.Config{
		Backoff: backoff.Constant(time.Millisecond), MaxAttempts: 5,
	})}
	resp, err := client.Get(s.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "hello", string(body))
	client.CloseIdleConnections()
}
