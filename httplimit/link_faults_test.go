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
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/window"
)

// link is shared by all downloads: the head comes at once, the body in steps of a second, and an answer that takes 20 minutes is
// cut off.
type link struct {
	sync.Mutex
	open, most, cut int
}

// download is the body of one, of so many seconds of the whole link.
type download struct {
	l     *link
	left  float64
	since time.Time
	once  sync.Once
}

func (d *download) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	d.l.Lock()
	defer d.l.Unlock()
	switch d.left -= 1 / float64(d.l.open); {
	case d.left <= 0:
		return 0, io.EOF
	case time.Since(d.since) > 20*time.Minute:
		d.l.cut++
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, "."), nil
}

func (d *download) Close() error {
	d.once.Do(func() {
		d.l.Lock()
		d.l.open--
		d.l.Unlock()
	})
	return nil
}

// Downloads that share a link were multiplied: nothing ends, so one more was sent, so less ended, and all 400 were cut off by the
// server. An answer with a length is work while its bytes come. One that nobody reads is none: its slot is free again.
func TestDownloadsThatShareALinkAreNotMultiplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &link{}
		lim := attempttest.Limiter(t, aimd.Config{})
		client := (&httplimit.Transport{Limiter: lim, Base: base(func(r *http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond)
			l.Lock()
			defer l.Unlock()
			l.open++
			l.most = max(l.most, l.open)
			return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: 1e9, Request: r, Body: &download{l: l, left: 10, since: time.Now()}}, nil
		})}).Client()
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for {
					resp, err := client.Get(anyURL)
					require.NoError(t, err)
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if err == nil {
						return
					}
				}
			})
		}
		all.Wait()
		assert.Zero(t, l.cut)
		assert.Less(t, l.most, 100) // 200 by trials
		assert.Zero(t, lim.Snapshot().Open)
	})
}

// Bodies that nobody reads and nobody closes held the window, and the log said nothing.
func TestBodiesThatNobodyCloses(t *testing.T) {
	for name, length := range map[string]int64{"without a length": -1, "with a length": 1e6} {
		synctest.Test(t, func(t *testing.T) {
			var told []aimd.Event
			var mu sync.Mutex
			lim, err := aimd.New(aimd.Config{Observer: func(e aimd.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == event.Open {
					told = append(told, e)
				}
			}})
			require.NoError(t, err)
			client := (&httplimit.Transport{Limiter: lim, Base: base(func(r *http.Request) (*http.Response, error) {
				time.Sleep(50 * time.Millisecond)
				return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: length, Request: r, Body: io.NopCloser(&feed{r.Context(), time.Now().Add(time.Hour)})}, nil
			})}).Client()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start := time.Now()
			var all sync.WaitGroup
			for range 60 {
				all.Go(func() {
					resp, err := client.Do(get(ctx, anyURL))
					require.NoError(t, err)
					_ = resp // and forgotten
				})
			}
			all.Wait()
			assert.Less(t, time.Since(start), 2*time.Minute, name)
			s := lim.Snapshot()
			assert.Equal(t, 60, s.InFlight+s.Open, name)
			assert.Contains(t, s.String(), " open=40", name)
			mu.Lock()
			seen := append([]aimd.Event(nil), told...)
			mu.Unlock()
			require.Len(t, seen, 2, name)
			assert.Equal(t, "open: 20 answers are open, and nothing ended for 10s: are their bodies closed?", seen[0].String(), name)
			assert.EqualValues(t, 40, seen[1].Count, name)

			// Shutdown waits for them all.
			short, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			require.EqualError(t, lim.Shutdown(short), "aimd: 60 attempts still in flight: context deadline exceeded")
			cancel()
			synctest.Wait()
			require.NoError(t, lim.Shutdown(t.Context()))
		})
	}
}

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
		inTime(t, name, func(t *testing.T) {
			lim := attempttest.Limiter(t, aimd.Config{Law: c.law})
			service := &cluster{start: time.Now(), slots: c.slots, down: [2]time.Duration{5 * time.Second, 5*time.Second + c.down}}
			client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
			ok := func(ctx context.Context, path string) bool {
				resp, err := client.Do(get(ctx, "http://cluster.example"+path))
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
						ok(ctx, "/pods?watch=1")
					}
				})
			}
			time.Sleep(time.Second)
			began, done := time.Now(), atomic.Int32{}
			for range 400 {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
					defer cancel()
					if ok(ctx, "/pods/1") {
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
	}
}
