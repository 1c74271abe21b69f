package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// feed is a body with a line each second, for a time or until its request ends.
type feed struct {
	ctx context.Context
	end time.Time
}

func (f *feed) Read(p []byte) (int, error) {
	if !time.Now().Before(f.end) {
		return 0, io.EOF
	}
	select {
	case <-time.After(time.Second):
		return copy(p, "{}\n"), nil
	case <-f.ctx.Done():
		return 0, f.ctx.Err()
	}
}

func (f *feed) Close() error { return nil }

// cluster answers a watch at once, for half an hour, and serves so many other requests at a time.
type cluster struct {
	start time.Time
	slots int32
	// down: all but watches is refused in this span.
	down [2]time.Duration
	busy atomic.Int32
}

func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ProtoMajor: 1}
	if r.URL.Query().Get("watch") != "" {
		time.Sleep(10 * time.Millisecond)
		resp.ContentLength, resp.Body = -1, &feed{r.Context(), time.Now().Add(30 * time.Minute)}
		return resp, nil
	}
	since := time.Since(c.start)
	full := c.busy.Add(1) > c.slots
	if full || since >= c.down[0] && since < c.down[1] {
		c.busy.Add(-1)
		time.Sleep(10 * time.Millisecond)
		resp.StatusCode = http.StatusTooManyRequests
	} else {
		time.Sleep(100 * time.Millisecond)
		c.busy.Add(-1)
	}
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
	return resp, nil
}

// An answer that never ends held a slot for as long as it was open. Watches of Kubernetes, event streams and change feeds are
// answered at once and then stay open for minutes or hours; the service does not count them. With as many as the window has slots
// nothing else was ever sent, and with fewer the first cut below their number was for ever.
func TestOpenAnswersDoNotHoldTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		watches int
		law     window.NewLaw
		slots   int32
		down    time.Duration
		most    time.Duration
	}{
		"20 watches, no limit":                      {20, nil, 1 << 20, 0, time.Minute},
		"4 watches, 4 slots, refused for 30 s":      {4, nil, 4, 30 * time.Second, 3 * time.Minute},
		"8 watches, 4 slots, Reno, nothing refused": {8, aimd.Reno(0.5), 4, 0, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim, err := aimd.New(aimd.Config{Law: c.law})
				require.NoError(t, err)
				service := &cluster{start: time.Now(), slots: c.slots, down: [2]time.Duration{5 * time.Second, 5*time.Second + c.down}}
				client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
				get := func(ctx context.Context, url string) bool {
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
					require.NoError(t, err)
					resp, err := client.Do(req)
					if err != nil {
						return false
					}
					defer resp.Body.Close()
					_, err = io.Copy(io.Discard, resp.Body)
					return err == nil && resp.StatusCode == 200
				}
				ctx, cancel := context.WithCancel(t.Context())
				var open, all sync.WaitGroup
				for range c.watches {
					open.Go(func() {
						for ctx.Err() == nil {
							get(ctx, "http://cluster.example/pods?watch=1")
						}
					})
				}
				time.Sleep(time.Second)
				began, done := time.Now(), atomic.Int32{}
				for range 400 {
					all.Go(func() {
						ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
						defer cancel()
						if get(ctx, "http://cluster.example/pods/1") {
							done.Add(1)
						}
					})
				}
				all.Wait()
				t.Logf("%d of 400 in %v, %v", done.Load(), time.Since(began), lim.Snapshot())
				assert.EqualValues(t, 400, done.Load())
				assert.LessOrEqual(t, time.Since(began), c.most)
				cancel()
				open.Wait()
				_ = lim.Close()
			})
		})
	}
}
