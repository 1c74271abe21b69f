package httplimit_test

import (
	"context"
	"errors"
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

// suspects is an option that keeps the events of that kind.
func suspects(to *[]string) aimd.Config {
	return aimd.Config{Observer: func(e aimd.Event) {
		if e.Kind == aimd.Suspect {
			*to = append(*to, e.String())
		}
	}}
}

// doors are two ways to call a service, whose error is that of a call.
var doors = map[string]func(http.RoundTripper, *aimd.Limiter) func(context.Context, string) error{
	"Do": func(b http.RoundTripper, l *aimd.Limiter) func(context.Context, string) error {
		return func(ctx context.Context, method string) error {
			return l.Do(ctx, func(ctx context.Context) error {
				resp, err := b.RoundTrip(request(ctx, method))
				return errors.Join(err, httplimit.Check(resp))
			})
		}
	},
	"Client": func(b http.RoundTripper, l *aimd.Limiter) func(context.Context, string) error {
		client := clientOn(b, l)
		return func(ctx context.Context, method string) error {
			resp, err := client.Do(request(ctx, method))
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return httplimit.Check(resp)
		}
	},
}

func request(ctx context.Context, method string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, anyURL, strings.NewReader(""))
	if err != nil {
		panic(err)
	}
	return r
}

// A client that is blocked for sending too much loses nine calls for each block, a POST too, since a firewall does
// none of the work.
func TestABlockWith403(t *testing.T) {
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				l, err := aimd.New(suspects(&told))
				require.NoError(t, err)
				f := &firewall{}
				call, start := door(f, l), time.Now()
				lost := work(1000, func(int) error { return call(t.Context(), http.MethodPost) })
				t.Logf("%d lost, %d refused in %d blocks, %v", lost, f.refused, f.blocks, time.Since(start))
				require.LessOrEqual(t, lost, 9*f.blocks)
				require.Less(t, time.Since(start), 10*time.Minute)
				require.NotEmpty(t, told)
				require.Contains(t, told[0], "suspect: answers of 403 in a row after successes, taken for a block by a firewall: ")
			})
		})
	}
}

// Some objects may not be read, in any order: this is no block.
func TestObjectsThatMayNotBeRead(t *testing.T) {
	for _, c := range []struct {
		share float64
		quick time.Duration
	}{{0.05, 0}, {0.3, 0}, {0.5, 0}, {0.05, 45 * time.Millisecond}, {0.3, 45 * time.Millisecond}, {0.5, 45 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			l, err := aimd.New(suspects(&told))
			require.NoError(t, err)
			random := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex
			call := doors["Do"](base(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				denied := random.Float64() < c.share
				mu.Unlock()
				if denied {
					time.Sleep(50*time.Millisecond - c.quick)
					return answers(403, nil, http.NoBody)(r)
				}
				time.Sleep(50 * time.Millisecond)
				return answers(200, nil, http.NoBody)(r)
			}), l)
			start := time.Now()
			lost := work(5000, func(int) error { return call(t.Context(), http.MethodGet) })
			t.Logf("%+v: %d of 5000, %v, %d pauses", c, lost, time.Since(start), len(told))
			require.LessOrEqual(t, len(told), 1)
		})
	}
}

// A folder of objects that may not be read is no block, if the service says so in its own format, as S3 does in
// XML, also to a HEAD, and GitHub in JSON. If it sends a page, as nginx does, or nothing, calls that have a deadline
// or Rules.GiveUpAfter lose nothing, and the others wait for 7 minutes, once.
func TestAFolderThatMayNotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		kind     string
		deadline time.Duration
		opts     aimd.Config
		most     time.Duration
	}{
		"S3":                    {"application/xml", 0, aimd.Config{}, 10 * time.Second},
		"GitHub":                {"application/json; charset=utf-8", 0, aimd.Config{}, 10 * time.Second},
		"nginx":                 {"text/html", 0, aimd.Config{}, 8 * time.Minute},
		"nginx, with deadlines": {"text/html", 30 * time.Second, aimd.Config{}, 20 * time.Second},
		"nginx, gives up":       {"text/html", 0, aimd.Config{Rules: aimd.Rules{GiveUpAfter: 30 * time.Second}}, 20 * time.Second},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for door, open := range doors {
				t.Run(name+" "+method+" "+door, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l, err := aimd.New(c.opts)
						require.NoError(t, err)
						served, forbidden, body := atomic.Int32{}, func(n int) bool { return n%500 >= 400 }, "Access Denied"
						if method == http.MethodHead {
							body = ""
						}
						call := open(base(func(r *http.Request) (*http.Response, error) {
							time.Sleep(50 * time.Millisecond)
							if forbidden(r.Context().Value(itemKey{}).(int)) {
								return answers(403, http.Header{"Content-Type": {c.kind}}, text(body))(r)
							}
							served.Add(1)
							return answers(200, nil, http.NoBody)(r)
						}), l)
						start := time.Now()
						lost := work(2000, func(n int) error {
							ctx, cancel := context.WithValue(t.Context(), itemKey{}, n), context.CancelFunc(func() {})
							if c.deadline > 0 {
								ctx, cancel = context.WithTimeout(ctx, c.deadline)
							}
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
}

// itemKey is the key of a context for the number of an item.
type itemKey struct{}
