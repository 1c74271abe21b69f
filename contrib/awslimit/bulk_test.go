package awslimit_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/s3test"
)

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
