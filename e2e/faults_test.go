package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

// Connections are reset before the answer, some before the store has seen the
// request and some after it has stored the object.
func TestResets(t *testing.T) {
	beside(t)
	for name, through := range map[string]sdk{"aws": throughAWS, "minio": throughMinio} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			c := newCapped(ctx, t, probe, slots)
			f := startFaulty(t, c.gateway, func(f *faulty, w http.ResponseWriter, r *http.Request) bool {
				switch {
				case f.every(20, 7):
					_, _ = io.Copy(io.Discard, r.Body)
				case f.every(20, 17):
					f.forward.ServeHTTP(httptest.NewRecorder(), r)
				default:
					return false
				}
				reset(w)
				return true
			})
			c.load.objects = 400
			c.load.put = through(t, f.address, c.limiter)
			c.run(ctx, t)

			requests, faults, _ := f.counts()
			now := c.limiter.Snapshot()
			figures.log(t, "%d of %d requests reset, %v, %.4f attempts per object, %d refused, cwnd %.1f", faults, requests,
				c.took.Round(10*time.Millisecond), float64(now.Attempts())/float64(c.load.objects), now.Overloads, now.Cwnd)
			require.NotZero(t, faults)
			require.EqualValues(t, requests, now.Attempts(), "one attempt for each request")
			require.EqualValues(t, faults, now.Neutrals, "a reset says nothing about load")
		})
	}
}

// The bodies of some uploads come slowly.
func TestSlowUploads(t *testing.T) {
	beside(t)
	ctx := begin(t)
	c := newCapped(ctx, t, probe, slots)
	client := limited(c.gateway.address, newTransport(t, 0), c.limiter)
	c.load.objects = 400
	c.load.put = func(ctx context.Context, key string, body []byte) error {
		in := &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(body)}
		if key[len(key)-1] == '0' {
			in.Body = &trickle{bytes.NewReader(body)}
		}
		_, err := client.PutObject(ctx, in)
		return err
	}
	c.run(ctx, t)
	now := c.limiter.Snapshot()
	figures.log(t, "%.4f attempts per object, %d refused, cwnd %.1f", float64(now.Attempts())/float64(c.load.objects), now.Overloads, now.Cwnd)
}

// trickle is a reader that gives an eighth of an object at a time, and takes its time.
type trickle struct{ *bytes.Reader }

func (r *trickle) Read(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return r.Reader.Read(p[:min(len(p), objectSize/8)])
}

// WriteTo would go past Read.
func (r *trickle) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{r})
}

// Bodies of answers come slowly. Each keeps its slot to its end, so that there are never more
// bodies under way than slots in the window.
func TestSlowAnswers(t *testing.T) {
	beside(t)
	const window = 8
	ctx := begin(t)
	g := startGateway(t, noCap)
	require.NoError(t, put(steward(ctx, t, g.address))(ctx, "k", body(1, objectSize)))
	f := startFaulty(t, g, func(f *faulty, w http.ResponseWriter, r *http.Request) bool {
		f.forward.ServeHTTP(&slowWriter{w}, r)
		return true
	})
	l := newLimiter(t, aimd.WithInitialWindow(window), aimd.WithMaxWindow(window))
	client := limited(f.address, newTransport(t, 0), l)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			got, err := get(ctx, client, "k")
			assert.NoError(t, err)
			assert.Equal(t, sum(body(1, objectSize)), sum(got))
		})
	}
	wg.Wait()
	requireIdle(t, l)
	_, _, most := f.counts()
	require.Equal(t, window, most, "answers under way at a time")
}

// slowWriter sends the head at once and the body in slow pieces.
type slowWriter struct{ http.ResponseWriter }

func (w *slowWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var m int
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		time.Sleep(10 * time.Millisecond)
		m, err = w.ResponseWriter.Write(p[:min(len(p), objectSize/4)])
		n, p = n+m, p[m:]
	}
	return n, err
}

// The first answers to CompleteMultipartUpload are a 200 with a SlowDown inside.
func TestErrorInside200(t *testing.T) {
	beside(t)
	const uploads, refused = 6, 3
	size := 12 << 20
	for name, inParts := range map[string]sdk{
		"aws": func(t *testing.T, address string, l *limiter.Limiter) upload {
			return transfer(limited(address, newTransport(t, 0), l))
		},
		"minio": func(t *testing.T, address string, l *limiter.Limiter) upload {
			return putMinio(limitedMinio(t, address, l), minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 16})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			g := startGateway(t, slots)
			store := steward(ctx, t, g.address)
			f := startFaulty(t, g, func(f *faulty, w http.ResponseWriter, r *http.Request) bool {
				if _, faults, _ := f.counts(); r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") || faults >= refused || !f.every(1, 0) {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/xml")
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n    \n"+slowDown)
				return true
			})
			l := newLimiter(t)
			send := inParts(t, f.address, l)
			var wg sync.WaitGroup
			for i := range uploads {
				wg.Go(func() { assert.NoError(t, send(ctx, fmt.Sprint(i), body(i, size))) })
			}
			wg.Wait()
			requireIdle(t, l)
			for i := range uploads {
				got, err := get(ctx, store, fmt.Sprint(i))
				require.NoError(t, err)
				require.Equal(t, sum(body(i, size)), sum(got), "object %d", i)
			}
			_, faults, _ := f.counts()
			now := l.Snapshot()
			figures.log(t, "%d uploads of %d MiB in parts, %d x SlowDown in a 200, %d attempts, %d overloads", uploads, size>>20, faults, now.Attempts(), now.Overloads)
			require.GreaterOrEqual(t, faults, refused)
			require.GreaterOrEqual(t, now.Overloads, uint64(refused), "the window learns of what is inside")
		})
	}
}

// transfer uploads in parts with the AWS SDK's transfer manager.
func transfer(c *s3.Client) upload {
	tm := transfermanager.New(c, func(o *transfermanager.Options) {
		o.PartSizeBytes, o.MultipartUploadThreshold, o.Concurrency = 5<<20, 5<<20, 16
	})
	return func(ctx context.Context, key string, body []byte) error {
		_, err := tm.UploadObject(ctx, &transfermanager.UploadObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(body)})
		return err
	}
}
