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
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/loopback"
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

// Store is a store that runs. Make one with Start. Close forgets its objects.
type Store struct {
	*loopback.Server
	limit   *limit
	witness *witness
}

// Start starts an empty store on a free port of the loopback interface.
func Start(c Config) (s *Store, err error) {
	objects := s3mem.New()
	if err := objects.CreateBucket(c.Bucket); err != nil {
		return nil, err
	}
	s = new(Store)
	s.Server, err = loopback.Start(func(at *loopback.Server) http.Handler {
		s.witness = &witness{next: service(at, c, gofakes3.New(objects).Server())}
		s.limit = &limit{slots: make(chan struct{}, c.Slots), next: s.witness}
		return s.limit
	})
	return s, err
}

func service(at *loopback.Server, c Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !at.Work(time.Duration(float64(c.Service) * (1 + c.Jitter*(2*rand.Float64()-1)))) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Served is how many requests passed the limit since the start: the store's own
// account, whatever its clients say.
func (s *Store) Served() int { return s.witness.count().served }

// Peak is the most requests that were served at the same time.
func (s *Store) Peak() int { return s.witness.count().peak }

// Refused is how many requests got SlowDown since the start.
func (s *Store) Refused() int { return int(s.limit.refused.Load()) }
