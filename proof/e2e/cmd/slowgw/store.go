package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// spread is the most that a service time may differ from the mean, as a share.
const spread = 0.2

// store is versitygw's store over a directory, slowed down. It counts what it
// serves, beneath whatever refuses requests.
type store struct {
	*posix.Posix
	service time.Duration
	// refuse is the share of uploads that are refused before any work.
	refuse float64

	mu      sync.Mutex
	counted counts
}

// counts are of the uploads that the store served.
type counts struct {
	// Served is the number of uploads, and Busy the sum of their times, in nanoseconds.
	Served int           `json:"served"`
	Busy   time.Duration `json:"busy"`
}

// PutObject implements versitygw's backend.
func (s *store) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	if rand.Float64() < s.refuse {
		return s3response.PutObjectOutput{}, s3err.GetAPIError(s3err.ErrSlowDown)
	}
	defer s.serve()()
	s.work(ctx)
	return s.Posix.PutObject(ctx, in)
}

// UploadPart implements versitygw's backend. The service time lies between the end of
// the body and the part's being there, so that an abort may come in between.
func (s *store) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	defer s.serve()()
	if _, known := in.Body.(middlewares.ChecksumReader); known || in.Body == nil {
		s.work(ctx) // versitygw looks at the body's type
	} else {
		in.Body = io.MultiReader(in.Body, workReader(func() { s.work(ctx) }))
	}
	return s.Posix.UploadPart(ctx, in)
}

// workReader is at its end after some work.
type workReader func()

func (w workReader) Read([]byte) (int, error) {
	w()
	return 0, io.EOF
}

// work takes the service time.
func (s *store) work(ctx context.Context) {
	t := time.NewTimer(time.Duration(float64(s.service) * (1 + spread*(2*rand.Float64()-1))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// serve counts an upload, and returns the function for its end.
func (s *store) serve() (done func()) {
	began := time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.counted.Served++
		s.counted.Busy += time.Since(began)
	}
}

// counts answers with the counts.
func (s *store) counts() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		now := s.counted
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(now)
	})
}
