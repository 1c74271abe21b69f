package httplimit_test

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/tag"
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

// run sends 1000 requests from 64 goroutines, and checks that each was served once.
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
	for id := range 1000 {
		ids <- id
	}
	close(ids)
	all.Wait()
	served := 0
	c.done.Range(func(id, times any) bool {
		served++
		return assert.EqualValues(t, 1, times.(*atomic.Int32).Load(), "request %v", id)
	})
	assert.Equal(t, 1000, served)
	assert.NotZero(t, c.refused.Load(), "the service never refused, so this shows nothing")
}

// loaded is a limiter for many requests at once.
func loaded(t *testing.T) *aimd.Limiter {
	t.Helper()
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 64, Rules: aimd.Rules{PauseMin: time.Millisecond, PauseMax: 10 * time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() {
		s := l.Snapshot()
		assert.Zero(t, s.InFlight)
		assert.Zero(t, s.Queued)
		assert.Zero(t, s.Late)
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
			limited := httplimit.New(rt, l)
			return base(func(r *http.Request) (*http.Response, error) {
				for {
					resp, err := limited.RoundTrip(r)
					if err != nil || resp.StatusCode == http.StatusOK {
						return resp, err
					}
					resp.Body.Close()
					r = r.WithContext(attempt.WithRetry(r.Context()))
					time.Sleep(rand.N(10 * time.Millisecond))
				}
			})
		},
		"a retrier above a Transport": func(t *testing.T, l *aimd.Limiter, rt http.RoundTripper) http.RoundTripper {
			return newRetrier(t, httplimit.New(rt, l), retry.Config{Backoff: backoff.Exponential{Min: time.Millisecond, Factor: 1}, MaxAttempts: -1})
		},
		"a Client": func(_ *testing.T, l *aimd.Limiter, rt http.RoundTripper) http.RoundTripper {
			return clientOn(rt, l).Transport
		},
	} {
		for _, p := range inMemory {
			t.Run(name+", "+p.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, service := loaded(t), &capped{}
					s := p.start(t, service)
					client := &http.Client{Transport: door(t, l, s.Client().Transport)}
					service.run(t, func(id string) error { return fetch(t.Context(), client, s.URL+"/"+id, id) })
					assert.EqualValues(t, 1000, l.Snapshot().Successes)
					assert.EqualValues(t, service.refused.Load(), l.Snapshot().Overloads, "each attempt counts")
				})
			})
		}
	}
}

// Whatever callers do with requests and bodies, no slot is lost.
func TestNoSlotIsLostWhateverCallersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loaded(t)
		s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100<<10)) }))
		client := &http.Client{Transport: httplimit.New(s.Client().Transport, l)}
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				for range 50 {
					ctx, cancel := context.WithCancel(t.Context())
					if rand.N(2) == 0 {
						all.Go(cancel)
					}
					if resp, err := client.Do(get(ctx, s.URL)); err == nil {
						_, _ = io.CopyN(io.Discard, resp.Body, rand.N(int64(200<<10)))
						if rand.N(4) > 0 {
							_ = resp.Body.Close()
						}
					}
					cancel()
				}
			})
		}
		all.Wait()
		synctest.Wait() // what nobody closed comes back by its context, on a goroutine of its own
	})
}

// Requests that panic, hijack, stream, hang up and are refused, all at once: never more than the limit
// are in service, and in the end every place is free.
func TestHandlerLeaksNothing(t *testing.T) {
	for _, p := range inMemory {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit = 4
				d := newDoor(t, admission.Fixed(limit), admission.Config{QueueBound: 8, QueueTime: 20 * time.Millisecond})
				var inside, most atomic.Int64
				h := handler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/hijack" { // who hijacks holds no place, and may go on
						n := inside.Inc()
						defer inside.Dec()
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
					}
					misbehave(w, r)
				}), d)
				s := p.start(t, h)
				s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the panics
				var all sync.WaitGroup
				for g := range 16 {
					all.Go(func() { hammer(t, s, rand.New(rand.NewPCG(uint64(g), 1))) })
				}
				all.Wait()
				synctest.Wait()
				d.stands(0, 0)
				assert.LessOrEqual(t, most.Load(), int64(limit))
				snapshot := d.Snapshot()
				assert.Positive(t, snapshot.Successes)
				assert.Positive(t, snapshot.Neutrals)
				t.Log(snapshot)
			})
		})
	}
}

// misbehave does what the request's path says.
func misbehave(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/late-panic":
		_, _ = io.WriteString(w, "half an ans")
		panic("boom")
	case "/hijack":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	case "/stream":
		for range 3 {
			_, _ = io.WriteString(w, "line\n")
			_ = http.NewResponseController(w).Flush()
		}
	case "/wait":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
}

func hammer(t *testing.T, s *httptest.Server, random *rand.Rand) {
	paths := []string{"/", "/panic", "/late-panic", "/stream", "/wait"}
	if s.TLS == nil {
		paths = append(paths, "/hijack")
	}
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		if random.IntN(4) == 0 {
			time.AfterFunc(time.Duration(random.IntN(2000))*time.Microsecond, cancel)
		}
		req := get(ctx, s.URL+paths[random.IntN(len(paths))])
		httplimit.SetTags(req.Header, tag.Tags{Criticality: tag.Sheddable + tag.Criticality(random.IntN(4)), Attempt: random.IntN(3)})
		if resp, err := s.Client().Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		cancel()
	}
}

// BenchmarkRoundTrip is a round trip over the loopback with 1 KiB of body: without a limiter, with one,
// and with one for each host. In "cancel" the context can end, so that the body watches it.
func BenchmarkRoundTrip(b *testing.B) {
	kib := make([]byte, 1<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(kib) }))
	defer s.Close()
	roundTrips(b, s.Client().Transport, s.URL)
}

// BenchmarkOverhead is the same without a network: what the limiter itself costs.
func BenchmarkOverhead(b *testing.B) { roundTrips(b, memory(), memoryURL) }

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
	l, err := aimd.New(aimd.Config{})
	require.NoError(t, err)
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
		require.LessOrEqual(t, allocates(httplimit.New(bare, l))-allocates(bare), c.want, c.name)
	}
}

// nothing is a body that is empty, and is not http.NoBody.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

func roundTrips(b *testing.B, bare http.RoundTripper, url string) {
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	if err != nil {
		b.Fatal(err)
	}
	hosts, err := httplimit.PerHost(bare, func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5)}) }, aimd.KeyedConfig{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
		ctx  context.Context
	}{
		{"bare", bare, context.Background()},
		{"limited", httplimit.New(bare, l), context.Background()},
		{"perhost", hosts, context.Background()},
		{"bare-cancel", bare, ctx},
		{"limited-cancel", httplimit.New(bare, l), ctx},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 2<<10)
			req := get(c.ctx, url)
			for b.Loop() {
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = resp.Body.Read(buf)
				}
				if err := resp.Body.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
