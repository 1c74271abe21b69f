package store

import (
	"net/http"
	"sync"
)

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
