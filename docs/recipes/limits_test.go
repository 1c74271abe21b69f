package recipes

import (
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
	client.HTTPClient = &http.Client{Transport: &httplimit.Transport{Base: base, Limiter: httplimit.One(lim)}} // no Timeout: it covers that wait
	return client
}

// 200 calls of 2 s, one at a time: all come to their end. A Timeout of the http.Client would end those that wait.
func TestRetryableHTTP(t *testing.T) {
	for _, bound := range []time.Duration{0, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, aimd.Config{MaxWindow: 1})
			client := retrying(inMemory(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Second) }), lim)
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
					assert.NoError(t, resp.Body.Close())
				})
			}
			all.Wait()
			require.Equal(t, bound > 0, failed.Load() > 0, "%d failed", failed.Load())
		})
	}
}

func twoLimiters() (batch, interactive *aimd.Limiter, err error) {
	if batch, err = aimd.New(aimd.Config{Name: "batch"}); err != nil {
		return nil, nil, err
	}
	interactive, err = aimd.New(aimd.Config{Name: "interactive"})
	return batch, interactive, err
}

// A call each 200 ms, beside a batch of 4000 calls by 2000 workers with the same key, of which the service serves
// 12 at a time.
func TestInteractiveBesideABatch(t *testing.T) {
	typical := func(t *testing.T, batch, interactive *aimd.Limiter) time.Duration {
		store := &slotted{slots: 12, refuse: func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }}
		tr := inMemory(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Millisecond) // the way there
			store.ServeHTTP(w, r)
			time.Sleep(10 * time.Millisecond) // and back
		})
		get := func(lim *aimd.Limiter) {
			resp, err := (&httplimit.Transport{Base: tr, Limiter: httplimit.One(lim)}).Client().Get(service)
			if assert.NoError(t, err) {
				assert.NoError(t, httplimit.Check(resp))
				assert.NoError(t, resp.Body.Close())
			}
		}
		var all sync.WaitGroup
		for range 2000 {
			all.Go(func() {
				get(batch)
				get(batch)
			})
		}
		var mu sync.Mutex
		var took []time.Duration
		for range 50 {
			time.Sleep(200 * time.Millisecond)
			all.Go(func() {
				start := time.Now()
				get(interactive)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(start))
			})
		}
		all.Wait()
		slices.Sort(took)
		t.Logf("half within %v, all within %v, %d of 4050 refused", took[24], took[49], store.refused)
		return took[24]
	}
	var one, two time.Duration
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, aimd.Config{})
		one = typical(t, lim, lim)
	})
	synctest.Test(t, func(t *testing.T) {
		batch, interactive, err := twoLimiters()
		require.NoError(t, err)
		two = typical(t, batch, interactive)
	})
	require.Greater(t, one, 5*time.Second)
	require.Less(t, two, time.Second) // 60 to 450 ms by chance
}

// firewall counts: who sends more than 110 requests in a second is refused for 10 s, with 403.
type firewall struct {
	mu      sync.Mutex
	lately  []time.Time
	until   time.Time
	refused int
}

func (f *firewall) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !f.admits() {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	time.Sleep(20 * time.Millisecond)
}

func (f *firewall) admits() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.lately = append(slices.DeleteFunc(f.lately, func(at time.Time) bool { return now.Sub(at) > time.Second }), now)
	if len(f.lately) > 110 {
		f.until = now.Add(10 * time.Second)
	}
	if now.Before(f.until) {
		f.refused++
		return false
	}
	return true
}

func behindFirewall(lim *aimd.Limiter) *httplimit.Transport { // of a limiter with the rate as its MaxRate
	return &httplimit.Transport{Limiter: httplimit.One(lim), Read: func(a answer.Answer) answer.Answer {
		if a.Status == http.StatusForbidden {
			return a.As(answer.Refused)
		}
		return a
	}}
}

// 1000 calls by 64 workers: without the recipe the first ones of a block are lost at the least.
func TestBehindAFirewall(t *testing.T) {
	run := func(t *testing.T, tr *httplimit.Transport) (lost int64, took time.Duration) {
		f := &firewall{}
		tr.Base = inMemory(f.ServeHTTP)
		client := tr.Client()
		start := time.Now()
		var refused atomic.Int64
		each(t, 1000, func(int) error {
			resp, err := client.Get(service)
			if err != nil {
				return err
			}
			if resp.StatusCode != http.StatusOK {
				refused.Inc()
			}
			return resp.Body.Close()
		})
		t.Logf("%v, %d lost, %d refused", time.Since(start), refused.Load(), f.refused)
		return refused.Load(), time.Since(start)
	}
	for _, perSecond := range []float64{100, 130} { // a guess that is too high by a fifth, too
		synctest.Test(t, func(t *testing.T) {
			lost, took := run(t, behindFirewall(newLimiter(t, aimd.Config{MaxRate: perSecond})))
			require.Zero(t, lost)
			require.True(t, perSecond > 110 || took < 11*time.Second, took)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		lost, _ := run(t, &httplimit.Transport{Limiter: httplimit.One(newLimiter(t, aimd.Config{}))})
		require.Positive(t, lost)
	})
}
