package demo

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
)

// smallUploads are uploads of no time. Without refusals, since the SDK's own strategies then
// wait for seconds.
func smallUploads() *uploads {
	return &uploads{
		Race: race.Race{Operations: 40, Goroutines: 8, Factor: 0.9, Limit: time.Minute},
		size: 1000, slots: 8, service: time.Millisecond,
	}
}

// smallJobs are jobs of no time, for an API that refuses none of them.
func smallJobs() *jobs {
	return &jobs{
		Race: race.Race{Operations: 50, Goroutines: 10, Factor: 0.9, Limit: time.Minute},
		rate: 1e6, burst: 1000, service: time.Millisecond, retryAfter: time.Second,
	}
}

func ignored(string, *race.Meter) {}

// done are the results of the strategies.
func done(t *testing.T, ctx context.Context, w work, begin func(string, *race.Meter), strategies ...string) (all []race.Result) {
	t.Helper()
	r := *w.race()
	r.Only = strategies
	require.NoError(t, r.Run(ctx, w, begin, func(x race.Result) error {
		all = append(all, x)
		return nil
	}))
	return all
}

func TestRefusedWorkIsNotLost(t *testing.T) {
	u, j := smallUploads(), smallJobs()
	// So long that even a slow machine sends more than the slots at a time, and more than the rate after the
	// burst. A refusal asks for no whole second.
	u.Operations, u.Goroutines, u.slots, u.service = 40, 20, 4, 20*time.Millisecond
	j.Operations, j.rate, j.burst, j.retryAfter = 30, 100, 5, 0
	for _, w := range []work{u, j} {
		for _, r := range done(t, t.Context(), w, ignored, "reno", "tahoe", "probe", "backoff") {
			assert.Zero(t, r.Lost, r.Strategy)
			assert.Positive(t, r.Refused, r.Strategy)
			assert.Equal(t, r.Operations+r.Refused, r.Attempts, r.Strategy)
			if w == work(u) {
				assert.LessOrEqual(t, r.Peak, 4, r.Strategy)
			}
		}
	}
}

func TestThePlainPoolLosesWhatIsRefused(t *testing.T) {
	j := smallJobs()
	j.rate, j.burst = 1e-9, 20
	r := done(t, t.Context(), j, ignored, "plain")[0]
	assert.Equal(t, 50, r.Attempts)
	assert.Equal(t, 30, r.Refused)
	assert.Equal(t, 30, r.Lost)
	assert.Contains(t, r.Reason, "429 Too Many Requests")
}

func TestAWrongObjectIsLost(t *testing.T) {
	u := smallUploads()
	client := &http.Client{}
	service, err := u.Start(&race.Strategy{Name: "sdk-default"}, client)
	require.NoError(t, err)
	defer service.Close()
	require.NoError(t, service.Do(t.Context(), 7))
	assert.True(t, service.Has(7))
	assert.False(t, service.Has(8))
	u.size++
	assert.False(t, service.Has(7), "another content")
	assert.Equal(t, content(7, 1000), content(7, 1000))
	assert.NotEqual(t, content(7, 1000), content(8, 1000))
}

// An interruption ends every strategy at once, also in the middle of a request or a wait.
func TestInterruptionOfEachStrategy(t *testing.T) {
	u, j := smallUploads(), smallJobs()
	u.service, j.service = time.Hour, time.Hour // that ends when the service closes
	for _, w := range []work{u, j} {
		for _, name := range names(w) {
			t.Run(name, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				assert.Empty(t, done(t, ctx, w, func(string, *race.Meter) { time.AfterFunc(10*time.Millisecond, interrupt) }, name))
			})
		}
	}
}

func TestRefusalOfTheAPI(t *testing.T) {
	j := smallJobs()
	j.rate, j.burst, j.retryAfter = 1e-9, 2, 1500*time.Millisecond
	var last *http.Response
	client := &http.Client{Transport: seen(func(res *http.Response) { last = res })}
	service, err := j.Start(nil, client)
	require.NoError(t, err)
	defer service.Close()
	require.NoError(t, service.Do(t.Context(), 1))
	require.NoError(t, service.Do(t.Context(), 1))
	require.Error(t, service.Do(t.Context(), 2))
	assert.Equal(t, http.StatusTooManyRequests, last.StatusCode)
	assert.Equal(t, "2", last.Header.Get("Retry-After"))
	assert.True(t, service.Has(1))
	assert.False(t, service.Has(2))
}

// seen is a transport that is shown each answer.
type seen func(*http.Response)

func (s seen) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	s(res)
	return res, err
}

func TestOptimum(t *testing.T) {
	u := newUploads()
	assert.Equal(t, 6250*time.Millisecond, u.Optimum(2000))
	assert.Equal(t, 100*time.Millisecond, u.Optimum(1), "one takes its service time")
	j := newJobs()
	assert.Equal(t, 10*time.Second, j.Optimum(1000))
	assert.Equal(t, 200*time.Millisecond, j.Optimum(20))
	assert.Equal(t, 200*time.Millisecond, j.Optimum(1))
}
