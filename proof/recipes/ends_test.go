package recipes

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// copies does all items, and with the end of the context no further one: what has begun goes on to its end.
func copies(stopped context.Context, lim *aimd.Limiter, items iter.Seq[string], copyOne func(context.Context, string) error) error {
	stop := context.AfterFunc(stopped, func() { _ = lim.Close() }) // no attempt begins any more, those in flight end
	defer stop()
	return aimd.Each(context.WithoutCancel(stopped), lim, items, copyOne)
}

// After Ctrl-C each item is done once, or was not begun.
func TestStoppedWithoutDoingWorkTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped, stop := context.WithCancel(t.Context())
		lim := newLimiter(t, aimd.Config{})
		var begun, done atomic.Int32
		time.AfterFunc(10*time.Second, stop)
		items := func(yield func(string) bool) {
			for yield("item") {
			}
		}
		err := copies(stopped, lim, items, func(ctx context.Context, _ string) error {
			begun.Add(1)
			time.Sleep(time.Second)
			done.Add(1)
			return ctx.Err()
		})
		require.ErrorIs(t, err, aimd.ErrClosed)
		require.Greater(t, done.Load(), int32(100))
		require.Equal(t, begun.Load(), done.Load())
		require.EqualValues(t, done.Load(), lim.Snapshot().Successes)
	})
}

// inOrder yields the results in the order of the items. It keeps those that ended before an earlier one.
func inOrder[T, R any](results iter.Seq2[aimd.Result[T, R], error]) iter.Seq2[aimd.Result[T, R], error] {
	type ended struct {
		aimd.Result[T, R]
		err error
	}
	return func(yield func(aimd.Result[T, R], error) bool) {
		early, next := map[int]ended{}, 0
		for r, err := range results {
			early[r.Index] = ended{r, err}
			for e, ok := early[next]; ok; e, ok = early[next] {
				if delete(early, next); !yield(e.Result, e.err) {
					return
				}
				next++
			}
		}
	}
}

func TestResultsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, aimd.Config{})
		square := func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			if n == 50 {
				return 0, errors.New("fifty")
			}
			return n * n, nil
		}
		n := 0
		for r, err := range inOrder(aimd.Map(t.Context(), lim, slices.Values(slices.Repeat([]int{7, 50}, 100)), square)) {
			require.Equal(t, n, r.Index)
			require.Equal(t, r.Item == 50, err != nil)
			n++
		}
		require.Equal(t, 200, n)
	})
}

// putPresigned signs each attempt once it has its slot.
func putPresigned(ctx context.Context, lim *aimd.Limiter, signer *s3.PresignClient, in *s3.PutObjectInput, content []byte) error {
	return lim.Do(ctx, func(ctx context.Context) error {
		signed, err := signer.PresignPutObject(ctx, in, s3.WithPresignExpires(time.Minute)) // within Do
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, signed.Method, signed.URL, bytes.NewReader(content))
		if err != nil {
			return err
		}
		maps.Copy(req.Header, signed.SignedHeader)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return httplimit.Check(resp)
	})
}

// 300 writes at 2 a second, with signatures of a minute.
func TestASignatureIsNotOlderThanItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last atomic.Int64
		start := time.Now()
		tr := inMemory(func(w http.ResponseWriter, r *http.Request) {
			signed, err := time.Parse("20060102T150405Z", r.URL.Query().Get("X-Amz-Date"))
			now := time.Since(start)
			switch {
			case err != nil || time.Since(signed) > time.Minute:
				w.WriteHeader(http.StatusForbidden)
			case now-time.Duration(last.Load()) < 490*time.Millisecond:
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				last.Store(int64(now))
			}
		})
		byDefault(t, tr)
		lim := newLimiter(t, aimd.Config{MaxRate: 2})
		signer := s3.NewPresignClient(s3.NewFromConfig(awsConfig(tr)))
		in := &s3.PutObjectInput{Bucket: aws.String("bucket"), Key: aws.String("key")}
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() { assert.NoError(t, putPresigned(t.Context(), lim, signer, in, []byte("hello"))) })
		}
		all.Wait()
	})
}
