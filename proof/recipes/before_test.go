package recipes

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/sethvargo/go-retry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

func beforeRate(ctx context.Context, items []string, send func(context.Context, string) error) error {
	pace := rate.NewLimiter(50, 1) // a guess
	for _, item := range items {
		if err := pace.Wait(ctx); err != nil {
			return err
		}
		if err := send(ctx, item); err != nil {
			return err // a 429 too
		}
	}
	return nil
}

func beforeTokens(ctx context.Context, item string, tokens int, send func(context.Context, string) error) error {
	pace := rate.NewLimiter(200_000.0/60, 8000) // tokens a second, and the largest prompt
	if err := pace.WaitN(ctx, tokens); err != nil {
		return err
	}
	return send(ctx, item)
}

func afterTokens(ctx context.Context, lim *aimd.Limiter, item string, tokens int, send func(context.Context, string) error) error {
	// lim is made of aimd.Config{MaxAmountRate: 200_000.0 / 60}
	ctx = aimd.WithAmount(ctx, float64(tokens))
	return lim.Do(ctx, func(ctx context.Context) error { return send(ctx, item) })
}

func beforeSemaphore(ctx context.Context, items []string, send func(context.Context, string) error) error {
	slots := semaphore.NewWeighted(16) // a guess
	var all sync.WaitGroup
	for _, item := range items {
		if err := slots.Acquire(ctx, 1); err != nil {
			return err
		}
		all.Go(func() {
			defer slots.Release(1)
			_ = send(ctx, item) // a 429 is lost
		})
	}
	all.Wait()
	return nil
}

func afterBoth(ctx context.Context, lim *aimd.Limiter, items []string, send func(context.Context, string) error) error {
	return aimd.Each(ctx, lim, slices.Values(items), send)
}

func beforeFailsafe() *http.Client {
	policy := adaptivelimiter.NewBuilder[*http.Response]().WithLimits(1, 100, 10).Build()
	return &http.Client{Transport: failsafehttp.NewRoundTripper(nil, failsafe.Policy[*http.Response](policy))}
}

func afterFailsafe() (*http.Client, error) {
	lim, err := aimd.New(aimd.Config{InitialWindow: 10, MaxWindow: 100})
	if err != nil {
		return nil, err
	}
	return httplimit.NewClient(lim), nil
}

func beforeBackoff(ctx context.Context, send func() (string, error)) (string, error) {
	return backoff.Retry(ctx, send) // as it comes, for 15 minutes
}

func afterBackoff(ctx context.Context, lim *aimd.Limiter, send func() (string, error)) (string, error) {
	return aimd.Do(ctx, lim, func(context.Context) (string, error) { return send() })
}

func beforeGoRetry(ctx context.Context, send func() (string, error)) (got string, err error) {
	err = retry.Do(ctx, retry.WithMaxRetries(5, retry.NewExponential(time.Second)), func(context.Context) (err error) {
		got, err = send()
		return retry.RetryableError(err)
	})
	return got, err
}

func beforeRetryableHTTP(base *http.Transport) *http.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient.Transport, client.Logger = base, nil
	return client.StandardClient()
}

func afterRetryableHTTP(base *http.Transport, lim *aimd.Limiter) *http.Client {
	return (&httplimit.Transport{Base: base, Limiter: lim}).Client()
}

// What the page says of the retriers: an outage of two minutes is longer than the tries of two of them, and a final error
// needs no word with a limiter.
func TestComingFromARetrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up time.Time
		send := func() (string, error) {
			if time.Now().Before(up) {
				return "", &httplimit.StatusError{StatusCode: http.StatusServiceUnavailable}
			}
			return "", &httplimit.StatusError{StatusCode: http.StatusNotFound}
		}
		call := func(do func(context.Context, func() (string, error)) (string, error)) (last string, took time.Duration) {
			began := time.Now()
			up = began.Add(2 * time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := do(ctx, send)
			require.Error(t, err)
			return err.Error(), time.Since(began)
		}
		last, took := call(beforeGoRetry)
		require.Contains(t, last, "503")
		require.Equal(t, 31*time.Second, took, "five retries")
		last, took = call(beforeBackoff)
		require.Contains(t, last, "404")
		require.Greater(t, took, 13*time.Minute, "though it is final")
		lim := newLimiter(t, aimd.Config{})
		last, took = call(func(ctx context.Context, send func() (string, error)) (string, error) {
			return afterBackoff(ctx, lim, send)
		})
		require.Contains(t, last, "404")
		require.Less(t, took, 3*time.Minute)

		base := inMemory(func(w http.ResponseWriter, _ *http.Request) {
			if time.Now().Before(up) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		up = time.Now().Add(2 * time.Minute)
		_, err := beforeRetryableHTTP(base).Get(service)
		require.ErrorContains(t, err, "giving up after 5 attempt(s)")
		resp, err := afterRetryableHTTP(base, lim).Get(service)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	})
}

// What the page says of each: a refusal is an item that is lost, or the end, and is tried again after.
func TestComingFrom(t *testing.T) {
	items := strings.Fields("a b c d")
	calls := 0
	once := func(context.Context, string) error {
		if calls++; calls == 2 {
			return &httplimit.StatusError{StatusCode: http.StatusTooManyRequests}
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		require.ErrorContains(t, beforeRate(t.Context(), items, once), "429")
		calls = 0
		lim := newLimiter(t, aimd.Config{MaxWindow: 1})
		require.NoError(t, afterBoth(t.Context(), lim, items, once))
		require.Equal(t, 5, calls)
	})
	synctest.Test(t, func(t *testing.T) { // 8000 tokens after the first prompt take 2.4 s
		lim := newLimiter(t, aimd.Config{MaxAmountRate: 200_000.0 / 60})
		start, done := time.Now(), func(context.Context, string) error { return nil }
		require.NoError(t, afterTokens(t.Context(), lim, "a", 8000, done))
		require.NoError(t, afterTokens(t.Context(), lim, "b", 100, done))
		require.InDelta(t, 2400*time.Millisecond, time.Since(start), 10)
		require.NoError(t, beforeTokens(t.Context(), "a", 8000, done))
	})
	require.NoError(t, beforeSemaphore(t.Context(), items, func(context.Context, string) error { return nil }))
	require.NotNil(t, beforeFailsafe())
	c, err := afterFailsafe()
	require.NoError(t, err)
	require.NotNil(t, c)
}

func customers() (*aimd.Keyed[string], error) {
	return aimd.NewKeyed(func(customer string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Name: customer, QueueBound: 4}) // the fifth worker gets ErrQueueFull
	}, aimd.KeyedConfig{})
}

// job is work for a customer. It reports false if it is to come back later.
func job(ctx context.Context, all *aimd.Keyed[string], customer string, work func(context.Context) error) (bool, error) {
	lim, err := all.For(customer)
	if err != nil {
		return false, err
	}
	err = lim.Do(ctx, work)
	if errors.Is(err, aimd.ErrQueueFull) {
		return false, nil // the worker takes another customer's job
	}
	return true, err
}

// Of 50 workers the slow customer holds one in its window and four in its queue, or a few more as the window grows. The
// others take another customer's job at once.
func TestOnePoolForManyCustomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, err := customers()
		require.NoError(t, err)
		start, away := time.Now(), 0
		var pool sync.WaitGroup
		for range 50 {
			pool.Go(func() {
				done, err := job(t.Context(), all, "slow", func(context.Context) error { time.Sleep(time.Minute); return nil })
				assert.NoError(t, err)
				if !done && time.Since(start) == 0 {
					away++
				}
			})
			synctest.Wait()
		}
		require.Greater(t, away, 20)
		done, err := job(t.Context(), all, "quick", func(context.Context) error { return nil })
		require.True(t, done && err == nil)
		require.Zero(t, time.Since(start))
		pool.Wait()
	})
}
