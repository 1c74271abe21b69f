package store

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// witness counts the requests that are being served.
type witness struct {
	next http.Handler

	mu sync.Mutex
	counts
}

type counts struct {
	now, peak, served int
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.add(1)
	defer w.add(-1)
	w.next.ServeHTTP(rw, r)
}

func (w *witness) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now += n
	w.peak = max(w.peak, w.now)
	w.served += max(n, 0)
}

func (w *witness) count() counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

// service takes its time before it hands a request on. A client that goes away
// does not shorten it: a store works on for nobody, too.
type service struct {
	mean   time.Duration
	jitter float64
	closed <-chan struct{}
	next   http.Handler
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := time.NewTimer(s.duration())
	defer t.Stop()
	select {
	case <-t.C:
		s.next.ServeHTTP(w, r)
	case <-s.closed:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *service) duration() time.Duration {
	return time.Duration(float64(s.mean) * (1 + s.jitter*(2*rand.Float64()-1)))
}
