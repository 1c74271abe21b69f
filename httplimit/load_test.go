package httplimit_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
)

// capped is a service that refuses more than 16 requests at a time with 429, and counts what it did.
type capped struct {
	busy, refused atomic.Int32
	// done counts how often each request was served.
	done sync.Map
}

func (c *capped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer c.busy.Add(-1)
	if c.busy.Add(1) > 16 {
		c.refused.Add(1)
		http.Error(w, "busy", http.StatusTooManyRequests)
		return
	}
	time.Sleep(time.Millisecond) // the service time
	times, _ := c.done.LoadOrStore(r.URL.Path[1:], atomic.NewInt32(0))
	times.(*atomic.Int32).Add(1)
	_, _ = io.WriteString(w, r.URL.Path[1:])
}

// run sends 300 requests from 64 goroutines, and checks that each was served once.
func (c *capped) run(t *testing.T, send func(id string) error) {
	t.Helper()
	ids := make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for id := range ids {
				assert.NoError(t, send(strconv.Itoa(id)))
			}
		})
	}
	for id := range 300 {
		ids <- id
	}
	close(ids)
	all.Wait()
	served := 0
	c.done.Range(func(id, times any) bool {
		served++
		return assert.EqualValues(t, 1, times.(*atomic.Int32).Load(), "request %v", id)
	})
	assert.Equal(t, 300, served)
	assert.NotZero(t, c.refused.Load(), "the service never refused, so this shows nothing")
}

// loaded is a limiter for many requests at once.
func loaded(t *testing.T) *aimd.Limiter {
	t.Helper()
	l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 64, PauseMin: time.Millisecond, PauseMax: 10 * time.Millisecond})
	t.Cleanup(func() {
		attempttest.Idle(t, l)
	})
	return l
}

// fetch gets the request's answer, which has to be the text want.
func fetch(ctx context.Context, client *http.Client, url, want string) error {
	resp, err := client.Do(get(ctx, url))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httplimit.Check(resp); err != nil {
		return err
	}
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != want {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A Transport below a loop that tries again, as SDKs have one, a retrier, and a Client.
func TestNoRequestIsLost(t *testing.T) {
	for name, door := range map[string]func(*testing.T, *aimd.Limiter, http.RoundTripper) http.RoundTripper{
		"a Transport and a loop": func(_ *testing.T, l *aimd.Limiter, rt http.RoundTripper) http.RoundTripper {
			limited := limited(rt, l)
			return base(func(r *http.Request) (*http.Response, error) {
				for {
					resp, err := limited.RoundTrip(r)
					if err != nil || resp.StatusCode == http.StatusOK {
						return resp, err
					}
					resp.Body.Close()
					time.Sleep(rand.N(10 * time.Millisecond))
				}
			})
		},
		"a retrier above a Transport": func(t *testing.T, l *aimd.Limiter, rt http.RoundTripper) http.RoundTripper {
			return newRetrier(t, limited(rt, l), retry.Config{Backoff: backoff.Exponential{Min: time.Millisecond, Factor: 1}, MaxAttempts: -1})
		},
		"a Client": func(_ *testing.T, l *aimd.Limiter, rt http.RoundTripper) http.RoundTripper {
			return clientOn(rt, l).Transport
		},
	} {
		for _, p := range inMemory {
			inTime(t, name+", "+p.name, func(t *testing.T) {
				l, service := loaded(t), &capped{}
				s := p.start(t, service)
				client := &http.Client{Transport: door(t, l, s.Client().Transport)}
				service.run(t, func(id string) error { return fetch(t.Context(), client, s.URL+"/"+id, id) })
				assert.EqualValues(t, 300, l.Snapshot().Successes)
				assert.EqualValues(t, service.refused.Load(), l.Snapshot().Overloads, "each attempt counts")
			})
		}
	}
}

// memory is net/http's Transport with a service in memory, at memoryURL.
func memory() *http.Transport {
	header, tr := http.Header{}, &http.Transport{}
	tr.RegisterProtocol("memory", base(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ProtoMajor: 1, Header: header, Body: nothing{}, ContentLength: -1, Request: req}, nil
	}))
	return tr
}

const memoryURL = "memory://service.example/"

// The limiter and its body are one allocation, and a request for net/http is no copy.
func TestWhatALimiterAllocates(t *testing.T) {
	bare := memory()
	l := attempttest.Limiter(t, aimd.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want float64
	}{{"no end", context.Background(), 1}, {"an end", ctx, 4}} {
		buf, req := make([]byte, 1), get(c.ctx, memoryURL)
		allocates := func(rt http.RoundTripper) float64 {
			return testing.AllocsPerRun(100, func() {
				resp, err := rt.RoundTrip(req)
				for err == nil {
					_, err = resp.Body.Read(buf)
				}
			})
		}
		require.LessOrEqual(t, allocates(limited(bare, l))-allocates(bare), c.want, c.name)
	}
}

// nothing is a body that is empty, and is not http.NoBody.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

// BenchmarkOverhead is a round trip without a network, without a limiter, with one, and with one for each host: what
// the limiter costs. In "cancel" the context can end, so that the body watches it.
func BenchmarkOverhead(b *testing.B) {
	bare := memory()
	l := attempttest.Reno(b, aimd.Config{})
	limiters, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5)}) }, aimd.KeyedConfig{})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
		ctx  context.Context
	}{
		{"bare", bare, context.Background()},
		{"limited", limited(bare, l), context.Background()},
		{"perhost", &httplimit.Transport{Base: bare, Of: httplimit.PerHost(limiters)}, context.Background()},
		{"bare-cancel", bare, ctx},
		{"limited-cancel", limited(bare, l), ctx},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 2<<10)
			req := get(c.ctx, memoryURL)
			for b.Loop() {
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = resp.Body.Read(buf)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
