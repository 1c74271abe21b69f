package pages

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
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
)

// firewall blocks a client with 403 for 10 s after more than 110 requests in a second.
type firewall struct {
	asked   atomic.Int64
	mu      sync.Mutex
	second  time.Time
	n       int
	until   time.Time
	blocks  int
	refused int
}

// Each answer takes a microsecond longer than the one before, so no two are read at the same instant.
func (f *firewall) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(50*time.Millisecond + time.Duration(f.asked.Add(1))*time.Microsecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.second) >= time.Second {
		f.second, f.n = now, 0
	}
	if f.n++; f.n > 110 && now.After(f.until) {
		f.until = now.Add(10 * time.Second)
		f.blocks++
	}
	status := http.StatusOK
	if now.Before(f.until) {
		status = http.StatusForbidden
		f.refused++
	}
	return answers(status, nil, http.NoBody)(r)
}

const workers = 40

// work does so many calls by the workers, and returns how many failed.
func work(calls int, call func(n int) error) (failed int) {
	var mu sync.Mutex
	next := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for n := range next {
				if call(n) != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	for n := range calls {
		next <- n
	}
	close(next)
	all.Wait()
	return failed
}

// blocked is a client of the base, and what its limiter says of blocks.
func blocked(t *testing.T, b base, c aimd.Config) (call func(ctx context.Context, method string) error, told *[]string) {
	told = new([]string)
	var mu sync.Mutex // answers come at once
	c.Observer = func(e aimd.Event) {
		if e.Kind == event.Blocked {
			mu.Lock()
			defer mu.Unlock()
			*told = append(*told, e.String())
		}
	}
	l, err := aimd.New(c)
	require.NoError(t, err)
	client := clientOn(b, l)
	return func(ctx context.Context, method string) error {
		r, err := http.NewRequestWithContext(ctx, method, anyURL, strings.NewReader(""))
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return httplimit.Check(resp)
	}, told
}

// A client that is blocked for sending too much loses nine calls for each block, a POST too, since a firewall does
// none of the work.
func TestABlockWith403(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &firewall{}
		call, told := blocked(t, f.RoundTrip, aimd.Config{})
		start := time.Now()
		lost := work(1000, func(int) error { return call(t.Context(), http.MethodPost) })
		t.Logf("%d lost, %d refused in %d blocks, %v", lost, f.refused, f.blocks, time.Since(start))
		require.LessOrEqual(t, lost, 9*f.blocks)
		require.Less(t, time.Since(start), 10*time.Minute)
		require.NotEmpty(t, *told)
		require.Contains(t, (*told)[0], "blocked: answers of 403 in a row after successes, taken for a block by a firewall: ")
	})
}

// Some objects may not be read, in any order: this is no block.
func TestObjectsThatMayNotBeRead(t *testing.T) {
	for _, share := range []float64{0.05, 0.3, 0.5} {
		for _, takes := range []time.Duration{50 * time.Millisecond, 5 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				var mu sync.Mutex
				call, told := blocked(t, func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					denied := random.Float64() < share
					mu.Unlock()
					if denied {
						time.Sleep(takes)
						return answers(403, nil, http.NoBody)(r)
					}
					time.Sleep(50 * time.Millisecond)
					return empty(r)
				}, aimd.Config{})
				start := time.Now()
				lost := work(5000, func(int) error { return call(t.Context(), http.MethodGet) })
				t.Logf("%v, %v: %d of 5000, %v, %d pauses", share, takes, lost, time.Since(start), len(*told))
				require.LessOrEqual(t, len(*told), 1)
			})
		}
	}
}

// A folder of objects that may not be read is no block, if the service says so in its own format, as S3 does in
// XML, also to a HEAD, and GitHub in JSON. If it sends a page, as nginx does, or nothing, calls that have a deadline
// or Config.MaxWait lose nothing, and the others wait for 7 minutes, once.
func TestAFolderThatMayNotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		kind     string
		deadline time.Duration // without one: a day
		config   aimd.Config
		most     time.Duration
	}{
		"S3":                    {kind: "application/xml", most: 10 * time.Second},
		"GitHub":                {kind: "application/json; charset=utf-8", most: 10 * time.Second},
		"nginx":                 {kind: "text/html", most: 8 * time.Minute},
		"nginx, with deadlines": {kind: "text/html", deadline: 30 * time.Second, most: 20 * time.Second},
		"nginx, gives up":       {kind: "text/html", config: aimd.Config{MaxWait: 30 * time.Second}, most: 20 * time.Second},
	} {
		for method, body := range map[string]string{http.MethodGet: "Access Denied", http.MethodHead: ""} {
			t.Run(name+" "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var served atomic.Int32
					call, _ := blocked(t, func(r *http.Request) (*http.Response, error) {
						time.Sleep(50 * time.Millisecond)
						if r.Context().Value(itemKey{}).(int)%500 >= 400 {
							return answers(403, http.Header{"Content-Type": {c.kind}}, text(body))(r)
						}
						served.Add(1)
						return empty(r)
					}, c.config)
					start := time.Now()
					lost := work(2000, func(n int) error {
						ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), itemKey{}, n), cmp.Or(c.deadline, 24*time.Hour))
						defer cancel()
						err := call(ctx, method)
						if err != nil {
							assert.ErrorContains(t, err, "403")
						}
						return err
					})
					require.Equal(t, 400, lost)
					require.EqualValues(t, 1600, served.Load())
					require.Less(t, time.Since(start), c.most)
				})
			})
		}
	}
}

// itemKey is the key of a context for the number of an item.
type itemKey struct{}
