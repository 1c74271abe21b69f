package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// The tests are named after the rules of docs/quota.md.

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

// Requests wait for the reset of the service's quota, and none is refused. With IgnoreQuotas no report is read.
func TestAQuotaIsRead(t *testing.T) {
	t.Run("read", func(t *testing.T) { aQuota(t, false) })
	t.Run("ignored", func(t *testing.T) { aQuota(t, true) })
}

func aQuota(t *testing.T, ignore bool) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var used []aimd.Event
		l, err := aimd.New(aimd.Config{Observer: func(e aimd.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == aimd.EventUsedUp {
				used = append(used, e)
			}
		}})
		require.NoError(t, err)
		var left, refused int
		var ends time.Time
		tr := limited(reporting(50*time.Millisecond, 0, func() (int, []any) {
			if now := time.Now(); !now.Before(ends) {
				left, ends = 60, now.Truncate(time.Minute).Add(time.Minute)
			}
			if left--; left < 0 {
				refused++
				return 429, []any{"Retry-After", 1}
			}
			return 200, []any{"X-RateLimit-Limit", 60, "X-RateLimit-Remaining", left, "X-RateLimit-Resource", "core",
				"X-RateLimit-Reset", math.Ceil(time.Until(ends).Seconds())}
		}), l)
		tr.IgnoreQuotas = ignore
		accepted, wait := busy(t.Context(), tr, 32, 150)
		began := time.Now()
		wait()
		assert.Equal(t, 150, accepted())
		if ignore {
			assert.NotZero(t, refused)
			assert.Empty(t, l.Snapshot().Quotas)
			return
		}
		assert.Zero(t, refused)
		assert.Less(t, time.Since(began), 126*time.Second)
		require.NotEmpty(t, used)
		assert.Equal(t, "core", used[0].Quota.Name)
		require.Len(t, l.Snapshot().Quotas, 1)
		assert.WithinDuration(t, ends.Add(time.Second), l.Snapshot().Quotas[0].Reset, time.Second, "and its rounding")
	})
}

// Rule 4: what a request spends is no more than the limit. Others keep a bucket of 10, one a second, empty for
// two minutes; its headers are those of a window. Then all of it is for the client.
func TestABucketThatOthersKeptEmptyIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		began, at, left := time.Now(), time.Now(), 10.
		ctx, cancel := context.WithCancel(t.Context())
		accepted, wait := busy(ctx, limited(reporting(50*time.Millisecond, 0, func() (int, []any) {
			now := time.Now()
			left, at = min(10, left+now.Sub(at).Seconds()), now
			if since := now.Sub(began); since > time.Second && since < 2*time.Minute {
				left = min(left, .5)
			}
			status := http.StatusTooManyRequests
			if left >= 1 {
				left--
				status = http.StatusOK
			}
			return status, []any{"RateLimit-Limit", 10, "RateLimit-Remaining", math.Floor(left), "RateLimit-Reset", math.Ceil(10 - left)}
		}), l), 8, 0)
		time.Sleep(2 * time.Minute)
		before := accepted()
		time.Sleep(3 * time.Hour)
		t.Logf("%d of 10 800 accepted", accepted()-before)
		assert.Greater(t, accepted()-before, 8000, "of 10 800: %v", l.Snapshot())
		cancel()
		wait()
	})
}

// Rule 7: nothing told stops a client for longer than MaxRetryAfter without a request that asks, and
// Reconfigure asks at once.
func TestOneAnswerStopsNoClientForLongerThanMaxRetryAfter(t *testing.T) {
	const year = 31536000
	for name, c := range map[string]struct {
		status int
		header []any
	}{
		"429, Retry-After of a year":             {429, []any{"Retry-After", year}},
		"503, the same, and 0 left":              {503, []any{"Retry-After", year, "RateLimit-Remaining", 0, "RateLimit-Limit", 100}},
		"200, 0 left, and a reset in a year":     {200, []any{"RateLimit-Remaining", 0, "RateLimit-Limit", 100, "RateLimit-Reset", year}},
		"200, 5 left, spread over nearly a day":  {200, []any{"RateLimit-Remaining", 5, "RateLimit-Limit", 100, "RateLimit-Reset", 80000}},
		"200, 0 of a bucket, full within a day":  {200, []any{"X-RateLimit-Remaining-Requests", 0, "X-RateLimit-Limit-Requests", 1, "X-RateLimit-Reset-Requests", "23h"}},
		"200, one at a time, and then no answer": {200, []any{"RateLimit-Policy", `"slots";q=1;qu="concurrent-requests"`}},
	} {
		for _, reconfigured := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				l, err := aimd.New(aimd.Config{MaxRetryAfter: time.Minute})
				require.NoError(t, err)
				n, forever := 0, strings.HasSuffix(name, "no answer")
				rt := limited(reporting(0, 10*time.Millisecond, func() (int, []any) {
					if n++; n == 1 {
						return c.status, c.header
					}
					return 200, nil
				}), l)
				send := func() {
					resp, err := rt.RoundTrip(get(t.Context(), anyURL))
					require.NoError(t, err)
					resp.Body.Close()
				}
				send()
				began := time.Now()
				if forever {
					a, err := l.Begin(t.Context())
					require.NoError(t, err)
					defer a.Drop()
				}
				if reconfigured {
					require.NoError(t, l.Reconfigure(func(*aimd.Config) {}))
				}
				send()
				most := 61 * time.Second
				if reconfigured {
					most = time.Second
				}
				assert.LessOrEqual(t, time.Since(began), most, name)
			})
		}
	}
}

// Requests within Do, with a client of the same limiter, use the slot of Do, and leave nothing behind.
func TestReportsWithinDoLeaveNothing(t *testing.T) {
	l, err := aimd.New(aimd.Config{})
	require.NoError(t, err)
	rt := limited(reporting(0, 0, func() (int, []any) {
		return 200, []any{"X-RateLimit-Limit", 1000000, "X-RateLimit-Remaining", 999999, "X-RateLimit-Reset", 3600}
	}), l)
	work := func() {
		for range 1000 {
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
				for range 5 {
					resp, err := rt.RoundTrip(get(ctx, anyURL))
					if err != nil {
						return err
					}
					resp.Body.Close()
				}
				return nil
			}))
		}
	}
	var before, after runtime.MemStats
	work()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 4 {
		work()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<10))
	runtime.KeepAlive(rt)
	require.Len(t, l.Snapshot().Quotas, 1)
}
