package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
)

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
			if e.Kind == event.UsedUp {
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
