package aimdminio_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	aimdminio "github.com/aimd-go/aimd/contrib/minio"
	"github.com/aimd-go/aimd/internal/fakes3"
	"github.com/aimd-go/aimd/window"
)

func TestBulkUploadLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 8, 10*time.Millisecond, nil)
		l := newLimiter(t)
		c := s.client(t, l)

		want := upload(t, 300, func(key, body string) error { return put(t.Context(), c, key, body) })

		require.Equal(t, want, s.content(t))
		requests, refused := s.Counts()
		require.NotZero(t, refused, "a window of 20 overshoots 8 slots")
		now := l.Snapshot()
		require.EqualValues(t, requests, now.Attempts(), "one attempt for each request")
		require.EqualValues(t, 300, now.Successes)
		require.EqualValues(t, refused, now.Overloads)
		requireIdle(t, l)
	})
}

// Do around a client that does not retry: the limiter does it all.
func TestBulkUploadInDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 8, 10*time.Millisecond, nil)
		l := newLimiter(t, aimd.WithClassifier(attempt.FirstOf(aimdminio.Classify, attempt.Classify)))
		base := s.transport()
		c := s.client(t, nil, func(o *minio.Options) { o.Transport, o.MaxRetries = base, 1 })

		want := upload(t, 300, func(key, body string) error {
			return l.Do(t.Context(), func(ctx context.Context) error { return put(ctx, c, key, body) })
		})

		require.Equal(t, want, s.content(t))
		requests, refused := s.Counts()
		require.NotZero(t, refused)
		now := l.Snapshot()
		require.EqualValues(t, requests, now.Attempts(), "minio-go retries nothing by itself")
		require.EqualValues(t, refused, now.Overloads)
		requireIdle(t, l)
	})
}

func TestArgumentsThatAreNil(t *testing.T) {
	require.EqualError(t, aimdminio.Limit(nil, newLimiter(t)), "aimdminio: options: nil is not allowed")
	require.EqualError(t, aimdminio.Limit(&minio.Options{}, nil), "aimdminio: limiter: nil is not allowed")
	_, err := aimdminio.Transport(nil, true)
	require.EqualError(t, err, "aimdminio: limiter: nil is not allowed")
}

// With Limit and Do of the same limiter the requests of an operation use the slot of Do.
func TestLimitWithinDoWaitsForNoSecondSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 1, 10*time.Millisecond, nil)
		l := newLimiter(t, aimd.WithInitialWindow(1), aimd.WithMaxWindow(1))
		c := s.client(t, l)
		big := bytes.Repeat([]byte("x"), 6<<20) // three requests and two parts, one at a time

		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.PutObject(ctx, bucket, "big", bytes.NewReader(big), int64(len(big)),
				minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 1, DisableContentSha256: true})
			return err
		}))

		require.True(t, bytes.Equal(big, read(t, c, "big")))
		require.EqualValues(t, 2, l.Snapshot().Successes, "Do, and the reading")
		requireIdle(t, l)
	})
}

// Each part takes a slot of its own, and the window learns of the SlowDown in the 200 of
// CompleteMultipartUpload.
func TestMultipart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		completing := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }
		s := newStore(t, 2, 10*time.Millisecond, fakes3.First(completing, func(w http.ResponseWriter, r *http.Request) {
			fakes3.Answer(w, r, http.StatusOK, "\n \n"+fakes3.SlowDown)
		}))
		l := newLimiter(t, aimd.WithInitialWindow(6))
		c := s.client(t, l)
		content := make([]byte, 22<<20)
		_, _ = rand.NewChaCha8([32]byte{}).Read(content)

		_, err := c.PutObject(t.Context(), bucket, "big", bytes.NewReader(content), int64(len(content)),
			// This store does not undo the chunked signatures of parts.
			minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 8, DisableContentSha256: true})
		require.NoError(t, err)
		requests, refused := s.Counts()
		now := l.Snapshot()
		require.EqualValues(t, requests, now.Attempts())
		require.EqualValues(t, 7, now.Successes, "initiate, 5 parts, complete")
		require.EqualValues(t, refused+1, now.Overloads, "the SlowDown in the 200 is one")
		requireIdle(t, l)

		got := read(t, c, "big")
		require.True(t, bytes.Equal(content, got), "what came down is what went up")
		requireIdle(t, l)
	})
}

func read(t *testing.T, c *minio.Client, key string) []byte {
	t.Helper()
	o, err := c.GetObject(t.Context(), bucket, key, minio.GetObjectOptions{})
	require.NoError(t, err)
	b, err := io.ReadAll(o)
	require.NoError(t, err)
	require.NoError(t, o.Close())
	return b
}

// What is no error stays as it is, the body too.
func TestAnswersOf200AreLeftAlone(t *testing.T) {
	s := newStore(t, 0, 0, nil)
	l := newLimiter(t)
	c := s.client(t, l)
	require.NoError(t, put(t.Context(), c, "a", "x"))
	info, err := c.CopyObject(t.Context(), minio.CopyDestOptions{Bucket: bucket, Object: "b"}, minio.CopySrcOptions{Bucket: bucket, Object: "a"})
	require.NoError(t, err)
	require.Equal(t, sum("x"), info.ETag)
	require.Equal(t, []byte("x"), read(t, c, "b"))
	for e := range c.RemoveObjects(t.Context(), bucket, objects("a", "b"), minio.RemoveObjectsOptions{}) {
		require.NoError(t, e.Err)
	}
	require.Empty(t, s.content(t))
	requireIdle(t, l)
}

func objects(keys ...string) <-chan minio.ObjectInfo {
	c := make(chan minio.ObjectInfo, len(keys))
	for _, k := range keys {
		c <- minio.ObjectInfo{Key: k}
	}
	close(c)
	return c
}

func TestLimitKeepsWhatIsSet(t *testing.T) {
	l := newLimiter(t)
	opts := &minio.Options{MaxRetries: 3, Transport: http.DefaultTransport}
	require.NoError(t, aimdminio.Limit(opts, l))
	require.Equal(t, 3, opts.MaxRetries)
	require.NotEqual(t, http.DefaultTransport, opts.Transport)

	opts = &minio.Options{}
	require.NoError(t, aimdminio.Limit(opts, l))
	require.Equal(t, 36, opts.MaxRetries)
}

// The end of the context ends the wait for a slot, and minio-go's retries.
func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 0, 0, nil)
		l := newLimiter(t, aimd.WithMaxWindow(1), aimd.WithInitialWindow(1))
		p, err := l.Acquire(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, put(ctx, s.client(t, l), "a", "x"), context.DeadlineExceeded)
		require.NoError(t, p.Done(window.Success))
		requests, _ := s.Counts()
		require.Zero(t, requests)
		requireIdle(t, l)
	})
}
