package api

import (
	"math"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/loopback"
)

// Limits are how an API behaves.
type Limits struct {
	// Rate is how many requests per second it serves in the long run, Burst how
	// many it serves at once after a rest.
	Rate  float64
	Burst int
	// Service is how long each request takes.
	Service time.Duration
	// RetryAfter is what refused clients are told, in whole seconds.
	RetryAfter time.Duration
}

// server is an API that runs: a token bucket, and 429 with Retry-After for requests that
// it has no token for. Make one with start.
type server struct {
	*loopback.Server
	limits Limits
	bucket *rate.Limiter

	mu sync.Mutex
	// served counts how often each job was done.
	served map[string]int
}

// start starts an API with a full bucket. POST /jobs/{id} does a job.
func start(l Limits) (s *server, err error) {
	s = &server{limits: l, bucket: rate.NewLimiter(rate.Limit(l.Rate), l.Burst), served: map[string]int{}}
	s.Server, err = loopback.Start(s.job)
	return s, err
}

// servedTimes is how often the job was done: the API's own record.
func (s *server) servedTimes(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[id]
}

func (s *server) job(at *loopback.Server, w http.ResponseWriter, r *http.Request) {
	if !s.bucket.Allow() {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(s.limits.RetryAfter.Seconds()))))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	if !at.Work(s.limits.Service) {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	s.served[path.Base(r.URL.Path)]++
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
