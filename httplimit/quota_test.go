package httplimit_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
)

// metered is a service that takes so many requests in a window, and reports that with each answer.
type metered struct {
	limit  int
	window time.Duration

	mu            sync.Mutex
	left          int
	ends          time.Time
	took, refused int
}

func (m *metered) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(50 * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.ends) {
		m.left, m.ends = m.limit, now.Truncate(m.window).Add(m.window)
	}
	status := 200
	if m.left > 0 {
		m.left--
		m.took++
	} else {
		m.refused++
		status = 403
	}
	h := http.Header{}
	h.Set("X-RateLimit-Limit", fmt.Sprint(m.limit))
	h.Set("X-RateLimit-Remaining", fmt.Sprint(m.left))
	h.Set("X-RateLimit-Reset", fmt.Sprint(math.Ceil(time.Until(m.ends).Seconds())))
	h.Set("X-RateLimit-Resource", "core")
	return &http.Response{StatusCode: status, ProtoMajor: 1, Header: h, Body: http.NoBody, Request: req}, nil
}

// Requests through every door wait for the reset of the service's quota, and none is refused.
func TestAQuotaIsReadThroughEveryDoor(t *testing.T) {
	plain := func(rt http.RoundTripper) func(context.Context) error {
		return func(ctx context.Context) error {
			resp, err := rt.RoundTrip(get(ctx, "http://service.example"))
			if err != nil {
				return err
			}
			return httplimit.Check(resp)
		}
	}
	for name, door := range map[string]func(*limiter.Limiter, http.RoundTripper) func(context.Context) error{
		"Transport": func(l *limiter.Limiter, base http.RoundTripper) func(context.Context) error {
			return plain(httplimit.New(base, l))
		},
		"Transport within Do": func(l *limiter.Limiter, base http.RoundTripper) func(context.Context) error {
			call := plain(httplimit.New(base, l))
			return func(ctx context.Context) error { return l.Do(ctx, call) }
		},
		"PerHost": func(l *limiter.Limiter, base http.RoundTripper) func(context.Context) error {
			rt, err := httplimit.PerHost(base, func(string) (*limiter.Limiter, error) { return l, nil }, limiter.KeyedConfig{})
			require.NoError(t, err)
			return plain(rt)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var used []limiter.Event
				l, err := aimd.New(aimd.WithObserver(func(e limiter.Event) {
					if e.Kind == limiter.UsedUp {
						used = append(used, e)
					}
				}))
				require.NoError(t, err)
				service := &metered{limit: 60, window: time.Minute}
				call, start := door(l, service), time.Now()
				var calls sync.WaitGroup
				for range 150 {
					calls.Go(func() { assert.NoError(t, call(t.Context())) })
				}
				calls.Wait()
				assert.Equal(t, 150, service.took)
				assert.Zero(t, service.refused)
				assert.Less(t, time.Since(start), 126*time.Second)
				assert.Zero(t, l.Snapshot().Cuts)
				require.NotEmpty(t, used)
				assert.Equal(t, "core", used[0].Quota.Name)
				quotas := l.Snapshot().Quotas
				require.Len(t, quotas, 1)
				assert.Equal(t, "core", quotas[0].Name)
				assert.Equal(t, 60., quotas[0].Limit)
				assert.InDelta(t, service.left, quotas[0].Left, 1)
				assert.WithinDuration(t, service.ends, quotas[0].Reset, time.Second)
			})
		})
	}
}

// A refusal for a used quota closes the gate up to the reset and leaves the window as it is.
func TestARefusalForAQuotaNarrowsNoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New()
		require.NoError(t, err)
		service := &metered{limit: 5, window: 10 * time.Second}
		client, before := &http.Client{Transport: httplimit.New(service, l)}, l.State().Cwnd
		var calls sync.WaitGroup
		for range 12 {
			calls.Go(func() {
				_ = l.Do(t.Context(), func(ctx context.Context) error {
					resp, err := client.Do(get(ctx, "http://service.example"))
					if err != nil {
						return err
					}
					return httplimit.Check(resp)
				})
			})
		}
		calls.Wait()
		assert.Equal(t, 12, service.took)
		assert.LessOrEqual(t, service.refused, 7, "those of the first burst")
		assert.GreaterOrEqual(t, l.State().Cwnd, before)
		assert.Zero(t, l.Snapshot().Pauses)
	})
}

func TestWithoutQuotaNothingIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New()
		require.NoError(t, err)
		resp, err := httplimit.New(&metered{limit: 5, window: time.Minute}, l, httplimit.WithoutQuota()).RoundTrip(get(t.Context(), "http://service.example"))
		require.NoError(t, err)
		require.NoError(t, httplimit.Check(resp))
		assert.Empty(t, l.Snapshot().Quotas)
	})
}
