package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
)

// forward is a proxy to a gateway. It keeps the host, which the signature covers, and adds no header.
func forward(t *testing.T, g *gateway) http.Handler {
	tr := newTransport(t, 0)
	tr.DisableCompression = true
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: g.address})
			r.Out.Host = r.In.Host
		},
		Transport: tr,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
}

// reset cuts the connection off without an answer.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	// With 0 the kernel sends RST at once, also with data to send or to read.
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Connections are reset before the answer, some before the store has seen the
// request and some after it has stored the object.
func TestResets(t *testing.T) {
	beside(t)
	for name, through := range map[string]sdk{"aws": throughAWS, "minio": throughMinio} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			u := newBulk(ctx, t, slots, 400)
			proxy, resets := forward(t, u.gateway), atomic.NewInt64(0)
			f := (&backend{serves: func(w http.ResponseWriter, r *http.Request, n int) {
				switch n % 20 {
				case 7:
					_, _ = io.Copy(io.Discard, r.Body)
				case 17:
					proxy.ServeHTTP(httptest.NewRecorder(), r)
				default:
					proxy.ServeHTTP(w, r)
					return
				}
				resets.Inc()
				reset(w)
			}}).serve(t)
			u.put = through(t, f.address, u.limiter)
			now := u.run(ctx, t)
			figures.log(t, "%d of %d requests reset, %v, %.4f attempts per object, %d refused, cwnd %.1f",
				resets.Load(), f.requests, u.took.Round(10*time.Millisecond), u.each(), now.Overloads, now.Cwnd)
			require.NotZero(t, resets.Load())
			require.EqualValues(t, f.requests, now.Attempts, "one attempt for each request")
			require.EqualValues(t, resets.Load(), now.Neutrals, "a reset says nothing about load")
		})
	}
}

// The first answers to CompleteMultipartUpload are a 200 with a SlowDown inside.
func TestErrorInside200(t *testing.T) {
	beside(t)
	const uploads, refused = 6, 3
	size := 12 << 20
	for name, inParts := range map[string]sdk{
		"aws": func(t *testing.T, address string, l *aimd.Limiter) upload {
			return transfer(limited(address, newTransport(t, 0), l))
		},
		"minio": func(t *testing.T, address string, l *aimd.Limiter) upload {
			return putMinio(limitedMinio(t, address, l), minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 16})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			g := startGateway(t, slots)
			store := steward(ctx, t, g.address)
			proxy, faults := forward(t, g), atomic.NewInt64(0)
			f := (&backend{serves: func(w http.ResponseWriter, r *http.Request, _ int) {
				if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") || faults.Inc() > refused {
					proxy.ServeHTTP(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/xml")
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n    \n"+slowDown)
			}}).serve(t)
			l := limiter(t, aimd.Config{Law: aimd.Reno(0.9)})
			send := inParts(t, f.address, l)
			together(uploads, uploads, func(i int) { assert.NoError(t, send(ctx, fmt.Sprint(i), body(i, size))) })
			requireIdle(t, l)
			for i := range uploads {
				got, err := get(ctx, store, fmt.Sprint(i))
				require.NoError(t, err)
				require.Equal(t, sum(body(i, size)), sum(got), "object %d", i)
			}
			now := l.Snapshot()
			figures.log(t, "%d uploads of %d MiB in parts, %d x SlowDown in a 200, %d attempts, %d overloads", uploads, size>>20, refused, now.Attempts, now.Overloads)
			require.Greater(t, faults.Load(), int64(refused))
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
