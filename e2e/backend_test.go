package e2e

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/e2e/internal/program"
)

// backend is a service that answers each request after the same time with its path.
type backend struct {
	address string
	delay   time.Duration
	server  *http.Server

	mu     sync.Mutex
	served map[string]int
}

func startBackend(t *testing.T, delay time.Duration) *backend {
	t.Helper()
	b := &backend{address: program.Address(t), delay: delay, served: map[string]int{}}
	require.NoError(t, b.start())
	t.Cleanup(b.stop)
	return b
}

// start starts it, also once more after stop.
func (b *backend) start() error {
	l, err := net.Listen("tcp", b.address)
	if err != nil {
		return err
	}
	b.server = &http.Server{Handler: b}
	go func(s *http.Server) { _ = s.Serve(l) }(b.server)
	return nil
}

// stop cuts all connections.
func (b *backend) stop() { _ = b.server.Close() }

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(b.delay)
	b.mu.Lock()
	b.served[r.URL.Path]++
	b.mu.Unlock()
	_, _ = io.WriteString(w, r.URL.Path)
}

// paths is how many different requests were served.
func (b *backend) paths() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.served)
}
