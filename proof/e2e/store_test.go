package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// The store's process is stopped and continued, or it is killed and started again with the same
// objects: no upload is lost, and the rate is back soon.
func TestStoreChanges(t *testing.T) {
	// enough objects are uploaded before the store changes: at full speed for a second or more. all leaves
	// enough for the time after the change.
	enough, all := amount(500, 350), amount(2500, 1400)
	pause := amount(10*time.Second, 3*time.Second)
	for _, k := range []struct {
		name string
		// silence is the time without an answer that counts as a timeout; 0: none does.
		silence time.Duration
		change  func(t *testing.T, u *bulk)
	}{
		{"stopped for " + pause.String(), time.Second, func(t *testing.T, u *bulk) {
			u.gateway.process.signal(t, syscall.SIGSTOP)
			time.Sleep(pause)
			u.gateway.process.signal(t, syscall.SIGCONT)
		}},
		{"killed and started again", 0, func(t *testing.T, u *bulk) {
			u.gateway.process.kill()
			time.Sleep(time.Second)
			u.gateway.start(t)
		}},
	} {
		t.Run(k.name, func(t *testing.T) {
			attempt(t, func(t *testing.T) bool {
				ctx := begin(t)
				u := newBulk(ctx, t, slots, all)
				u.put = put(limited(u.gateway.address, newTransport(t, k.silence), u.limiter))
				var uploading sync.WaitGroup
				uploading.Go(func() { u.upload(ctx) })
				u.reached(t, enough)
				now := time.Now()
				rate := u.moments().between(now.Add(-time.Second), now)
				k.change(t, u)
				back := time.Now()
				uploading.Wait()
				u.requireAll(ctx, t)
				s := u.limiter.Snapshot()
				after, ok := u.done.regained(back, 0.9*float64(rate))
				figures.log(t, "90%% of %d/s after %v, %.4f attempts per object, %d refused, %d timeouts, %d other, %d cuts, %d pauses",
					rate, after.Round(10*time.Millisecond), u.each(), s.Overloads, s.Timeouts, s.Neutrals, s.Cuts, s.Pauses)
				return ok && after <= 5*time.Second
			})
		})
	}
}

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
	const kinds = 16
	downloads := amount(2000, 1000)
	for name, most := range map[string]float64{"reno": amount(0.02, 0.04), "probe": 0.25} {
		t.Run(name, func(t *testing.T) {
			attempt(t, func(t *testing.T) bool { return throttled(t, laws[name], kinds, downloads) <= most })
		})
	}
}

// throttled returns the share of attempts that were refused.
func throttled(t *testing.T, law aimd.Config, kinds, downloads int) (refused float64) {
	ctx := begin(t)
	g := startGateway(t, noCap)
	upload := put(steward(ctx, t, g.address))
	for i := range kinds {
		require.NoError(t, upload(ctx, fmt.Sprint(i), body(i, objectSize)))
	}
	n := nginx{Cap: slots, BytesPerSecond: 80 << 10}.start(t, g.address)
	l := limiter(t, law)
	client := limited(n.Listen, newTransport(t, 0), l)
	began := time.Now()
	together(goroutines, downloads, func(i int) {
		got, err := get(ctx, client, fmt.Sprint(i%kinds))
		assert.NoError(t, err)
		assert.Equal(t, sum(body(i%kinds, objectSize)), sum(got))
	})
	took := time.Since(began)
	requireIdle(t, l)
	s := l.Snapshot()
	n.requireStatuses(t, map[string]int{"200": downloads, "503": int(s.Overloads)})
	refused = float64(s.Overloads) / float64(s.Attempts)
	figures.log(t, "%d downloads in %v, %.2f%% of attempts refused (%d in %d bursts), cwnd %.1f",
		downloads, took.Round(10*time.Millisecond), 100*refused, s.Overloads, s.Cuts, s.Cwnd)
	return refused
}
