// Package store is the S3-compatible object store that the demo uploads to: a
// real S3 API over HTTP on the loopback interface, in memory, with a hard
// limit on the requests it serves at a time.
//
// A request passes three rooms, outermost first:
//
//	limit    more than Slots at a time get S3's own 503 SlowDown
//	serve    counts what got through, without knowing of the limit, and takes its time
//	objects  gofakes3, which keeps the objects
package store

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/loopback"
)

// Config is how a store behaves.
type Config struct {
	// Slots is how many requests are served at a time, from 1.
	Slots int
	// Service is the mean time of a request without its transfer.
	Service time.Duration
	// Jitter spreads the service time evenly over Service * (1 ± Jitter), 0 to 1.
	Jitter float64
	// Bucket exists from the start.
	Bucket string
}

// Store is a store that runs. Make one with Start. Close forgets its objects.
type Store struct {
	*loopback.Server
	config  Config
	objects http.Handler
	// slots has an item for each request that is in.
	slots chan struct{}

	mu sync.Mutex
	// serving, peak and served are the store's own account. Guarded by mu.
	serving, peak, served, refused int
}

// Start starts an empty store on a free port of the loopback interface.
func Start(c Config) (s *Store, err error) {
	objects := s3mem.New()
	if err := objects.CreateBucket(c.Bucket); err != nil {
		return nil, err
	}
	s = &Store{config: c, objects: gofakes3.New(objects).Server(), slots: make(chan struct{}, c.Slots)}
	s.Server, err = loopback.Start(s.limit)
	return s, err
}

// Served is how many requests passed the limit since the start, whatever clients say.
func (s *Store) Served() int { return s.read(&s.served) }

// Peak is the most requests that were served at the same time.
func (s *Store) Peak() int { return s.read(&s.peak) }

// Refused is how many requests got SlowDown since the start.
func (s *Store) Refused() int { return s.read(&s.refused) }

func (s *Store) read(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

func (s *Store) limit(at *loopback.Server, w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		s.serve(at, w, r)
	default:
		s.slowDown(w, r)
	}
}

func (s *Store) serve(at *loopback.Server, w http.ResponseWriter, r *http.Request) {
	s.enter(1)
	defer s.enter(-1)
	if !at.Work(time.Duration(float64(s.config.Service) * (1 + s.config.Jitter*(2*rand.Float64()-1)))) {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.objects.ServeHTTP(w, r)
}

func (s *Store) enter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving += n
	s.peak = max(s.peak, s.serving)
	s.served += max(n, 0)
}

// slowDownBody is what S3 says: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
const slowDownBody = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>%[1]s</RequestId><HostId>aimd-demo</HostId></Error>`

// slowDown answers as S3 does. It takes the body first: a server that answers
// and closes while the client still sends shows as a broken connection, not as
// a refusal.
func (s *Store) slowDown(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a client that went away needs no answer
	s.mu.Lock()
	s.refused++
	id := fmt.Sprintf("REFUSED%09d", s.refused)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Server", "AmazonS3")
	w.Header().Set("X-Amz-Request-Id", id)
	w.WriteHeader(http.StatusServiceUnavailable)
	if r.Method != http.MethodHead {
		_, _ = fmt.Fprintf(w, slowDownBody, id)
	}
}
