package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// fastest and slowest bound the time from message to message.
	fastest, usual, slowest = 100 * time.Millisecond, 250 * time.Millisecond, time.Second
	// most pages are open at a time.
	most = 16
	// patience is the time that a page may take to read a message.
	patience = 10 * time.Second
)

// events serves the stream of a page until the page closes or the server shuts down.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	every, err := interval(r.FormValue("every"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case h.pages <- struct{}{}:
		defer func() { <-h.pages }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d pages are open already, close one", most), http.StatusServiceUnavailable)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // nginx would keep it
	if r.Method == http.MethodHead {
		return
	}
	h.send(w, r, every)
}

func interval(s string) (time.Duration, error) {
	if s == "" {
		return usual, nil
	}
	every, err := time.ParseDuration(s)
	if err != nil || every < fastest || every > slowest {
		return 0, fmt.Errorf("every: %q is not allowed, want a duration from %v to %v", s, fastest, slowest)
	}
	return every, nil
}

func (h *handler) send(w http.ResponseWriter, r *http.Request, every time.Duration) {
	down := h.down(r)
	to := http.NewResponseController(w)
	page := page{every: every, seen: map[int]known{}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		data, err := json.Marshal(h.watch.news(&page))
		if err != nil {
			panic(err) // numbers and texts only
		}
		// A server's WriteTimeout is for answers that end.
		if err := to.SetWriteDeadline(time.Now().Add(patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return
		}
		if err := to.Flush(); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-down:
			return
		}
	}
}

// down is closed when the request's server shuts down, which would else wait for
// its pages.
func (h *handler) down(r *http.Request) <-chan struct{} {
	s, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers[s] == nil {
		down := make(chan struct{})
		h.servers[s] = down
		s.RegisterOnShutdown(func() { close(down) })
	}
	return h.servers[s]
}
