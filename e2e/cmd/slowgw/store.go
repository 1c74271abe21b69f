package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
)

// spread is how much a service time may differ from the mean, as a share.
const spread = 0.2

// store is versitygw's store over a directory, slowed down. It counts what it
// serves, beneath whatever refuses requests.
type store struct {
	*posix.Posix
	service time.Duration

	mu       sync.Mutex
	inFlight int
	counted  counts
}

// counts are of the uploads that got through to the store.
type counts struct {
	// Served is how many, and Busy the sum of their times, in nanoseconds.
	Served int           `json:"served"`
	Busy   time.Duration `json:"busy"`
	// Most is the most of them at a time since it was last asked for.
	Most int `json:"most"`
}

// PutObject implements versitygw's backend.
func (s *store) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	defer s.serve(ctx)()
	return s.Posix.PutObject(ctx, in)
}

// UploadPart implements versitygw's backend.
func (s *store) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	defer s.serve(ctx)()
	return s.Posix.UploadPart(ctx, in)
}

// serve takes the service time, and returns what to do at the end.
func (s *store) serve(ctx context.Context) (done func()) {
	began := time.Now()
	s.mu.Lock()
	s.inFlight++
	s.counted.Most = max(s.counted.Most, s.inFlight)
	s.mu.Unlock()
	t := time.NewTimer(time.Duration(float64(s.service) * (1 + spread*(2*rand.Float64()-1))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
		s.counted.Served++
		s.counted.Busy += time.Since(began)
	}
}

// counts answers with the counts, and begins anew to look for the most at a time.
func (s *store) counts() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		now := s.counted
		s.counted.Most = s.inFlight
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(now)
	})
}
