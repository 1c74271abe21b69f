// Package api sends the same jobs from a worker pool to a rate-limited API of its own, once
// per strategy, and measures the cost of each strategy.
package api

import (
	"context"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/sim"
)

// Config describes the work, the workers and the API.
type Config struct {
	// Requests is the number of requests, Goroutines the number of workers.
	Requests, Goroutines int
	Limits               Limits
	// Factor is what Tahoe and Reno keep of the window at a cut.
	Factor float64
	// Only are the strategies to run, of Strategies, in this order.
	Only []string
	// Limit is the longest time for one strategy.
	Limit time.Duration
}

// Optimum is the least time for n requests: the burst at once, the others as the tokens
// come, and the service time of the last request.
func (c Config) Optimum(requests int) time.Duration {
	if requests == 0 {
		return 0
	}
	rest := max(0, float64(requests-c.Limits.Burst))
	return time.Duration(rest/c.Limits.Rate*float64(time.Second)) + c.Limits.Service
}

// plain are the ways to deal with an API that says 429 without a limiter. The names
// are fixed, scripts know them.
var plain = []string{"plain", "backoff"}

// Strategies are the names of all strategies: without a limiter, then with one of
// each law.
func Strategies() []string { return slices.Concat(plain, sim.Laws()) }

// Run does all jobs once per strategy, each with an API that is new, and yields
// how it went. It ends with the first error. When ctx ends the strategy that
// runs is stopped and yielded as interrupted, and is the last.
func Run(ctx context.Context, c Config, w measure.Watcher) iter.Seq2[measure.Result, error] {
	return measure.Each(ctx, c.Only, func(name string) (measure.Result, error) { return c.run(ctx, name, w) })
}

func (c Config) run(ctx context.Context, name string, w measure.Watcher) (measure.Result, error) {
	server := start(c.Limits)
	defer server.close()
	set, err := measure.SetUp(name, c.Factor)
	if err != nil {
		return measure.Result{}, err
	}
	defer set.Close()
	m := measure.NewMeter(c.Requests, set.Limiter)
	client, closeIdle := m.Client(c.Goroutines)
	defer closeIdle()

	w.Begin(name, m)
	o := measure.Pool{Goroutines: c.Goroutines, Limit: c.Limit}.Run(ctx, m, func(ctx context.Context, i int) error {
		return set.Retry(ctx, func(ctx context.Context) error { return send(ctx, client, server.URL, i) })
	})
	done := func(i int) bool { return server.servedTimes(strconv.Itoa(i)) > 0 }
	r := o.Judged(name, set.Factor, done, c.Optimum)
	w.End(r)
	return r, nil
}

func send(ctx context.Context, client *http.Client, url string, i int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/jobs/"+strconv.Itoa(i), nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return httplimit.Check(res)
}

// Limits are how an API behaves.
type Limits struct {
	// Rate is how many requests per second it serves in the long run, Burst how
	// many it serves at once after a rest.
	Rate  float64
	Burst int
	// Service is how long each request takes.
	Service time.Duration
	// RetryAfter is the Retry-After of a refusal, in whole seconds.
	RetryAfter time.Duration
}

// server is an API that runs: a token bucket, and 429 with Retry-After for requests that
// it has no token for. Make one with start.
type server struct {
	*httptest.Server
	closed chan struct{}
	limits Limits
	bucket *rate.Limiter

	mu sync.Mutex
	// served counts how often each job was done.
	served map[string]int
}

// start starts an API with a full bucket. POST /jobs/{id} does a job.
func start(l Limits) *server {
	s := &server{limits: l, bucket: rate.NewLimiter(rate.Limit(l.Rate), l.Burst), served: map[string]int{}, closed: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.job))
	return s
}

// close stops the API at once.
func (s *server) close() {
	close(s.closed)
	s.CloseClientConnections()
	s.Close()
}

// servedTimes is how often the job was done: the API's own record.
func (s *server) servedTimes(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[id]
}

func (s *server) job(w http.ResponseWriter, r *http.Request) {
	if !s.bucket.Allow() {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(s.limits.RetryAfter.Seconds()))))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	select {
	case <-time.After(s.limits.Service): // also if the client goes away
	case <-s.closed:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	s.served[path.Base(r.URL.Path)]++
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
