package e2e

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
)

// shelf is a store without a network, of 32 slots of 80 to 120 ms. It refuses what is above in a millisecond.
type shelf struct {
	mu             sync.Mutex
	busy, attempts int
	has            map[string]bool
}

func (s *shelf) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.attempts++
	full := s.busy == 32
	if !full {
		s.busy++
	}
	s.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"x"`}}, Body: http.NoBody, Request: r}
	if full {
		time.Sleep(time.Millisecond)
		resp.StatusCode, resp.Header = http.StatusServiceUnavailable, http.Header{"Content-Type": {"application/xml"}}
		resp.Body = io.NopCloser(strings.NewReader("<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"))
		return resp, nil
	}
	time.Sleep(80*time.Millisecond + rand.N(40*time.Millisecond))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.has[r.URL.Path] = true
	return resp, nil
}

// README: the SDKs as they come, and one under a limiter, upload 2000 objects of 64 KiB from 256 goroutines, without a
// machine in it. -v has the figures.
func TestUploadsAsTheyCome(t *testing.T) {
	lost := map[string]int{}
	for name, client := range map[string]func(*testing.T, *shelf) upload{
		"the AWS SDK": func(_ *testing.T, s *shelf) upload { return put(pathStyle(config("store.example", s))) },
		"minio-go": func(t *testing.T, s *shelf) upload {
			c, err := minio.New("store.example", &minio.Options{
				Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath, Transport: s,
			})
			require.NoError(t, err)
			return func(ctx context.Context, key string, body []byte) error {
				_, err := c.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
				return err
			}
		},
		"awslimit": func(t *testing.T, s *shelf) upload {
			l, err := aimd.New(aimd.Config{})
			require.NoError(t, err)
			cfg := config("store.example", s)
			cfg.BaseEndpoint = aws.String("http://store.example")
			awslimit.Limit(&cfg, l)
			return put(pathStyle(cfg))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, began := &shelf{has: map[string]bool{}}, time.Now()
			send, keys, body := client(t, s), make(chan int), make([]byte, 64<<10)
			var all sync.WaitGroup
			for range 256 {
				all.Go(func() {
					for i := range keys {
						_ = send(t.Context(), strconv.Itoa(i), body) // who is lost says the store
					}
				})
			}
			for i := range 2000 {
				keys <- i
			}
			close(keys)
			all.Wait()
			lost[name] = 2000 - len(s.has)
			t.Logf("%-12s %.2f times the optimum, %.2f attempts an object, %d lost", name,
				time.Since(began).Seconds()/(2000./32*.1), float64(s.attempts)/2000, lost[name])
		})
	}
	assert.Zero(t, lost["awslimit"])
	assert.Greater(t, lost["the AWS SDK"], 1000)
	assert.InDelta(t, 212, lost["minio-go"], 60, "README")
}
