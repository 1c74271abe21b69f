package recipes

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
)

func retrying(base *http.Transport, lim *aimd.Limiter) *retryablehttp.Client {
	base.ResponseHeaderTimeout = 30 * time.Second // of one attempt, without the wait for its slot
	client := retryablehttp.NewClient()
	client.HTTPClient = (&httplimit.Transport{Base: base, Limiter: lim}).Client() // no Timeout: it covers that wait
	client.RetryMax = 0                                                           // the client below sends again, at the front of the queue
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler                   // the last answer as it is
	return client
}

// 200 calls of 2 s, one at a time: all come to their end. A Timeout of the http.Client would end those that wait. Half of the
// requests are refused: with the retries of go-retryablehttp, four of them, calls would be lost.
func TestRetryableHTTP(t *testing.T) {
	for _, bound := range []time.Duration{0, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, aimd.Config{MaxWindow: 1})
			var sent atomic.Int64
			client := retrying(inMemory(func(w http.ResponseWriter, _ *http.Request) {
				if sent.Inc()%16 >= 8 {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				time.Sleep(2 * time.Second)
			}), lim)
			client.Logger, client.HTTPClient.Timeout = nil, bound
			var all sync.WaitGroup
			var failed atomic.Int64
			for range 200 {
				all.Go(func() {
					resp, err := client.Get(service)
					if err != nil {
						failed.Inc()
						return
					}
					assert.Equal(t, http.StatusOK, resp.StatusCode)
					assert.NoError(t, resp.Body.Close())
				})
			}
			all.Wait()
			require.Equal(t, bound > 0, failed.Load() > 0, "%d failed", failed.Load())
		})
	}
}

// asked makes a request for a person who waits, through the client of the batch.
func asked(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	ctx = aimd.Urgent(ctx) // it goes before the batch
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// A call each 200 ms, beside a batch of 4000 calls by 2000 workers with the same key, of which the service serves
// 12 at a time.
func TestInteractiveBesideABatch(t *testing.T) {
	type get func(ctx context.Context, client *http.Client, url string) (*http.Response, error)
	plain := func(_ context.Context, client *http.Client, url string) (*http.Response, error) {
		return client.Get(url)
	}
	typical := func(t *testing.T, interactive get) time.Duration {
		var busy, refused atomic.Int64
		tr := inMemory(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(10 * time.Millisecond) // the way there
			if busy.Inc() > 12 {
				refused.Inc()
				w.WriteHeader(http.StatusTooManyRequests)
			} else {
				time.Sleep(40 * time.Millisecond)
			}
			busy.Dec()
			time.Sleep(10 * time.Millisecond) // and back
		})
		client := (&httplimit.Transport{Base: tr, Limiter: newLimiter(t, aimd.Config{})}).Client()
		call := func(get get) {
			resp, err := get(t.Context(), client, service)
			if assert.NoError(t, err) {
				assert.NoError(t, httplimit.Check(resp))
				assert.NoError(t, resp.Body.Close())
			}
		}
		var all sync.WaitGroup
		for range 2000 {
			all.Go(func() {
				call(plain)
				call(plain)
			})
		}
		var mu sync.Mutex
		var took []time.Duration
		for range 50 {
			time.Sleep(200 * time.Millisecond)
			all.Go(func() {
				start := time.Now()
				call(interactive)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(start))
			})
		}
		all.Wait()
		slices.Sort(took)
		t.Logf("half within %v, all within %v, %d of 4050 refused", took[24], took[49], refused.Load())
		return took[24]
	}
	var one, urgent time.Duration
	synctest.Test(t, func(t *testing.T) { one = typical(t, plain) })
	synctest.Test(t, func(t *testing.T) { urgent = typical(t, asked) })
	require.Greater(t, one, 5*time.Second)
	require.Less(t, urgent, 200*time.Millisecond)
}

func behindFirewall(lim *aimd.Limiter) *httplimit.Transport { // of a limiter with the rate as its MaxRate
	return &httplimit.Transport{Limiter: lim, Read: func(a answer.Answer) answer.Answer {
		if a.Status == http.StatusForbidden {
			return a.As(answer.Refused)
		}
		return a
	}}
}

// A block ends after three refusals: with the recipe the call is not lost.
func TestBehindAFirewall(t *testing.T) {
	for _, c := range []struct {
		of   func(*aimd.Limiter) *httplimit.Transport
		want int
	}{
		{behindFirewall, http.StatusOK},
		{func(l *aimd.Limiter) *httplimit.Transport { return &httplimit.Transport{Limiter: l} }, http.StatusForbidden},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := c.of(newLimiter(t, aimd.Config{MaxRate: 100}))
			tr.Base, _ = serve(said{status: 403}, said{status: 403}, said{status: 403}, said{status: 200})
			resp, err := tr.Client().Get(service)
			require.NoError(t, err)
			require.Equal(t, c.want, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
		})
	}
}
