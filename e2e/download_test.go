package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// get downloads an object; the SDK checks it against the store's checksum.
func get(ctx context.Context, c *s3.Client, key string) ([]byte, error) {
	out, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(out.Body)
	return b, errors.Join(err, out.Body.Close())
}

// Downloads that nginx throttles, under its cap: the slot is held to the end of
// the body, as nginx counts it, or nearly everything would be refused.
func TestThrottledDownloads(t *testing.T) {
	const (
		kinds = 16
		size  = 64 << 10
	)
	downloads := amount(2000, 1000)
	attempt(t, func(t *testing.T) bool {
		ctx := begin(t)
		g := startGateway(t, noCap)
		upload := put(steward(ctx, t, g.address))
		sums := make([]string, kinds)
		for i := range kinds {
			b := body(i, size)
			sums[i] = sum(b)
			require.NoError(t, upload(ctx, fmt.Sprint(i), b))
		}
		p := startNginx(t, g.address, proxyConfig{Cap: slots, BytesPerSecond: 80 << 10})
		l := newLimiter(t)
		client := limited(p.address, newTransport(t, 0), l)

		began := time.Now()
		var next atomic.Int64
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for i := int(next.Add(1)); i <= downloads; i = int(next.Add(1)) {
					got, err := get(ctx, client, fmt.Sprint(i%kinds))
					if assert.NoError(t, err) {
						assert.Equal(t, sums[i%kinds], sum(got))
					}
				}
			})
		}
		wg.Wait()
		took := time.Since(began)

		requireIdle(t, l)
		s := l.Snapshot()
		p.requireStatuses(t, map[string]int{"200": downloads, "503": int(s.Overloads)})
		refused := float64(s.Overloads) / float64(s.Attempts())
		figures.log(t, "%d downloads in %v, %.2f%% of attempts refused (%d in %d bursts), cwnd %.1f",
			downloads, took.Round(10*time.Millisecond), 100*refused, s.Overloads, s.Cuts, s.Cwnd)
		return refused <= amount(0.02, 0.04)
	})
}
