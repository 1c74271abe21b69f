package e2e

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// backend is a service that reads each request to its end, takes its time, and answers with the request's
// path. It notes what it did.
type backend struct {
	address string
	// delay is the time for a request.
	delay time.Duration
	// slots is how many requests it takes at a time; it refuses the others at once. 0: no bound.
	slots int
	// refusal is the status of a refusal; 0: 503.
	refusal int
	// serves, if not nil, answers the n-th request instead.
	serves func(w http.ResponseWriter, r *http.Request, n int)

	server *http.Server

	mu                        sync.Mutex
	requests, refused, inside int
	// done counts the answers by path, of which the last came at that time. A request whose client, or this server,
	// was gone at the end has none.
	done map[string]int
	last time.Time
}

// serve serves the backend, whose options are set, until the test ends.
func (b *backend) serve(t *testing.T) *backend {
	t.Helper()
	var err error
	for range 3 { // another may take the port first
		b.address = program.Address(t)
		if err = b.open(); err == nil {
			break
		}
	}
	require.NoError(t, err)
	t.Cleanup(b.close)
	return b
}

// open opens its port, also once more after close.
func (b *backend) open() error {
	l, err := net.Listen("tcp", b.address)
	if err != nil {
		return err
	}
	b.server = &http.Server{Handler: b}
	go func(s *http.Server) { _ = s.Serve(l) }(b.server)
	return nil
}

// close cuts all connections.
func (b *backend) close() { _ = b.server.Close() }

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, ok := b.enter()
	if !ok {
		w.WriteHeader(cmp.Or(b.refusal, http.StatusServiceUnavailable))
		return
	}
	defer b.leave()
	if b.serves != nil {
		b.serves(w, r, n)
		return
	}
	_, err := io.Copy(io.Discard, r.Body)
	time.Sleep(b.delay)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || r.Context().Err() != nil {
		return
	}
	b.last = time.Now()
	if b.done == nil {
		b.done = map[string]int{}
	}
	b.done[r.URL.Path]++
	_, _ = io.WriteString(w, r.URL.Path)
}

// enter returns the number of a request, and false if the request is refused.
func (b *backend) enter() (n int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	if b.slots > 0 && b.inside >= b.slots {
		b.refused++
		return b.requests, false
	}
	b.inside++
	return b.requests, true
}

func (b *backend) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inside--
}

// paths is how many different requests were served, and when the last was.
func (b *backend) paths() (int, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.done), b.last
}

// exchange sends a request, and requires an answer that accepts it and belongs to it.
func exchange(c *http.Client, req *http.Request) error {
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httplimit.Check(resp); err != nil {
		return err
	}
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != req.URL.Path {
		err = fmt.Errorf("answer to %s: %q", req.URL.Path, got)
	}
	return err
}
