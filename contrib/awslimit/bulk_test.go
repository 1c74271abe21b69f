package awslimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/s3test"
)

// Of 300 objects, put from 64 goroutines, none is lost.
func TestBulkUploadLosesNothing(t *testing.T) {
	for _, retries2026 := range []string{"", "true"} {
		t.Run("AWS_NEW_RETRIES_2026="+retries2026, func(t *testing.T) {
			t.Setenv("AWS_NEW_RETRIES_2026", retries2026)
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, slots(8, 10*time.Millisecond))
				l := newLimiter(t, aimd.Config{})
				c := s.client(l)
				want, keys := map[string]string{}, make(chan string)
				var all sync.WaitGroup
				for range 64 {
					all.Go(func() {
						for key := range keys {
							assert.NoError(t, put(t.Context(), c, key, strings.Repeat(key, 100)))
						}
					})
				}
				for i := range 300 {
					key := fmt.Sprintf("object-%03d", i)
					want[key] = sum(strings.Repeat(key, 100))
					keys <- key
				}
				close(keys)
				all.Wait()
				require.Equal(t, want, s.content(t))
				requests, refused := s.Counts()
				require.NotZero(t, refused, "a window of 20 overshoots 8 slots")
				require.EqualValues(t, requests, l.Snapshot().Attempts, "one attempt for each request")
				requireOutcomes(t, l, outcomes{successes: 300, overloads: uint64(refused)})
			})
		})
	}
}

// Whatever goes wrong, in whatever order: every slot comes back, once.
func TestNothingLeaksInDisorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slots(8, time.Millisecond), scripted(func(w http.ResponseWriter, r *http.Request) bool {
			switch rand.IntN(8) {
			case 0:
				s3test.Refuse(w, r)
			case 1:
				s3test.Answer(w, r, http.StatusInternalServerError, "")
			case 2:
				s3test.Answer(w, r, http.StatusOK, slowDown)
			case 3:
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "cut")
				// Once an answer has begun, net/http does not repeat the request on its own.
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			case 4:
				hang(r)
			default:
				return false
			}
			return true
		}))
		l := newLimiter(t, aimd.Config{})
		c := s.client(l)
		require.NoError(t, s.put("k", strings.Repeat("x", 1<<16)))
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				for range 20 {
					disorderly(t.Context(), c)
				}
			})
		}
		wg.Wait()
		// A body that was left open is released on its context's own goroutine.
		settled(t, l, func(s aimd.Snapshot) bool { return s.InFlight == 0 })
		requireIdle(t, l)
		requests, _ := s.Counts()
		require.GreaterOrEqual(t, l.Snapshot().Attempts, uint64(requests), "some are cancelled before the server sees them")
		now := l.Snapshot()
		require.NotZero(t, now.Successes)
		require.NotZero(t, now.Overloads)
		require.NotZero(t, now.Neutrals)
	})
}

// disorderly runs one operation that may be cut short anywhere.
func disorderly(ctx context.Context, c *s3.Client) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(100))*time.Millisecond)
	defer cancel()
	if rand.IntN(2) == 0 {
		_ = put(ctx, c, "other", "x")
		return
	}
	out, err := get(ctx, c, "k")
	if err != nil {
		return
	}
	switch rand.IntN(3) {
	case 0:
		_, _ = io.Copy(io.Discard, out.Body)
	case 1:
		_, _ = io.CopyN(io.Discard, out.Body, 10)
	}
	if rand.IntN(2) == 0 {
		_ = out.Body.Close()
	}
}

// Each part is an attempt with a slot of its own, and the 200 of CompleteMultipartUpload may still say
// SlowDown inside.
func TestTransferManager(t *testing.T) {
	for _, retries2026 := range []string{"", "true"} {
		t.Run("AWS_NEW_RETRIES_2026="+retries2026, func(t *testing.T) {
			t.Setenv("AWS_NEW_RETRIES_2026", retries2026)
			synctest.Test(t, func(t *testing.T) {
				var completed int // only one CompleteMultipartUpload at a time
				s := newStore(t, slots(2, 10*time.Millisecond), scripted(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") {
						return false
					}
					completed++
					if completed == 1 {
						s3test.Answer(w, r, http.StatusOK, slowDown)
					}
					return completed == 1
				}))
				l := newLimiter(t, aimd.Config{InitialWindow: 6})
				tm := transfermanager.New(s.client(l), func(o *transfermanager.Options) {
					o.PartSizeBytes, o.Concurrency = 5<<20, 8
				})
				content := make([]byte, 21<<20)
				_, _ = rand.NewChaCha8([32]byte{}).Read(content)

				_, err := tm.UploadObject(t.Context(), &transfermanager.UploadObjectInput{
					Bucket: aws.String(bucket), Key: aws.String("big"), Body: bytes.NewReader(content)})
				require.NoError(t, err)
				require.Equal(t, 2, completed)
				requests, refused := s.Counts()
				require.EqualValues(t, requests, l.Snapshot().Attempts)
				// Create, 5 parts, Complete; and the SlowDown in the 200.
				requireOutcomes(t, l, outcomes{successes: 7, overloads: uint64(refused) + 1})

				into := &bytesAt{b: make([]byte, len(content))}
				_, err = tm.DownloadObject(t.Context(), &transfermanager.DownloadObjectInput{
					Bucket: aws.String(bucket), Key: aws.String("big"), WriterAt: into})
				require.NoError(t, err)
				require.True(t, bytes.Equal(content, into.b), "what came down is what went up")
				requests, _ = s.Counts()
				require.EqualValues(t, requests, l.Snapshot().Attempts)
				requireIdle(t, l)
			})
		})
	}
}

type bytesAt struct{ b []byte }

func (w *bytesAt) WriteAt(p []byte, off int64) (int, error) { return copy(w.b[off:], p), nil }

func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	require.True(t, errors.As(err, &api), "an API error in: %v", err)
	assert.Equal(t, code, api.ErrorCode())
}
