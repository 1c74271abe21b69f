package s3

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/aimd-go/aimd/internal/fakes3"
)

// bucket is the bucket of the demo.
const bucket = "aimd-demo"

// store is an S3 server over HTTP on the loopback interface, with the objects in memory. It
// refuses requests above its slots with 503 SlowDown. Below that limit, and without knowing
// it, serve counts the requests.
type store struct {
	fakes3.Store
	config  Config
	backend gofakes3.Backend
	objects http.Handler
	closed  chan struct{}

	mu sync.Mutex
	// serving, peak and served are the store's own account. Guarded by mu.
	serving, peak, served int
}

// open starts an empty store.
func open(c Config) (*store, error) {
	s := &store{config: c, backend: s3mem.New(), closed: make(chan struct{})}
	if err := s.backend.CreateBucket(bucket); err != nil {
		return nil, err
	}
	s.objects = gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.Slots, s.Next = c.Slots, http.HandlerFunc(s.serve)
	s.Start()
	return s, nil
}

// serve takes its time for each request. Like a real service it continues if the client goes
// away, until the store closes.
func (s *store) serve(w http.ResponseWriter, r *http.Request) {
	s.enter(1)
	defer s.enter(-1)
	select {
	case <-time.After(time.Duration(float64(s.config.Service) * (1 + s.config.Jitter*(2*rand.Float64()-1)))):
		s.objects.ServeHTTP(w, r)
	case <-s.closed:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *store) enter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving += n
	s.peak = max(s.peak, s.serving)
	s.served += max(n, 0)
}

// counts returns the most requests that were served at a time, and the number of requests served.
func (s *store) counts() (peak, served int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak, s.served
}

// holds reports whether the store has that object with that content. It does not ask over HTTP.
func (s *store) holds(key string, want []byte) bool {
	o, err := s.backend.GetObject(bucket, key, nil)
	if err != nil {
		return false
	}
	defer o.Contents.Close()
	got, err := io.ReadAll(o.Contents)
	return err == nil && bytes.Equal(got, want)
}

// close stops the store at once.
func (s *store) close() {
	close(s.closed)
	s.CloseClientConnections()
	s.Close()
}
