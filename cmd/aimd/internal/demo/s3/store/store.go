// Package store is the S3-compatible object store that the demo uploads to: a
// real S3 API over HTTP on the loopback interface, in memory, with a hard
// limit on the requests it serves at a time.
//
// A request passes four rooms, outermost first:
//
//	limit    more than Slots at a time get S3's own 503 SlowDown
//	witness  counts what got through, without knowing of the limit
//	service  takes its time
//	S3       gofakes3, which keeps the objects
package store

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Config is how a store behaves.
type Config struct {
	// Slots is how many requests are served at a time, from 1.
	Slots int
	// Service is the mean time that a request takes beside its transfer.
	Service time.Duration
	// Jitter spreads the service time evenly over Service * (1 ± Jitter), 0 to 1.
	Jitter float64
	// Bucket exists from the start.
	Bucket string
}

// Store is a store that runs. Make one with Start.
type Store struct {
	limit   *limit
	witness *witness
	server  *http.Server
	address string

	closing sync.Once
	closed  chan struct{}
}

// Start starts an empty store on a free port of the loopback interface.
func Start(c Config) (*Store, error) {
	objects := s3mem.New()
	if err := objects.CreateBucket(c.Bucket); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Store{address: l.Addr().String(), closed: make(chan struct{})}
	s.witness = &witness{next: &service{
		mean: c.Service, jitter: c.Jitter, closed: s.closed,
		next: gofakes3.New(objects).Server(),
	}}
	s.limit = &limit{slots: c.Slots, next: s.witness}
	s.server = &http.Server{Handler: s.limit, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // always ends with ErrServerClosed
	return s, nil
}

// URL is where the store listens.
func (s *Store) URL() string { return "http://" + s.address }

// Close stops the store at once and forgets its objects. What is being served
// is cut off.
func (s *Store) Close() {
	s.closing.Do(func() {
		close(s.closed)
		_ = s.server.Close() // its listener is all that could fail to close
	})
}

// Served is how many requests passed the limit since the start: the store's own
// account, whatever its clients say.
func (s *Store) Served() int { return s.witness.count().served }

// Peak is the most requests that were served at the same time.
func (s *Store) Peak() int { return s.witness.count().peak }

// Refused is how many requests got SlowDown since the start.
func (s *Store) Refused() int { return s.limit.count() }
