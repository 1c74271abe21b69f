package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/live"
)

// patient is a service that refuses nothing: who finds no slot waits.
type patient struct{ slots chan struct{} }

func (p patient) serve(context.Context) error {
	p.slots <- struct{}{}
	time.Sleep(100 * time.Millisecond)
	<-p.slots
	return nil
}

// serverOf answers after 50 ms.
func serverOf(start time.Time, answer func(time.Time, int64) *http.Response) http.RoundTripper {
	var sent atomic.Int64
	return base(func(r *http.Request) (*http.Response, error) {
		time.Sleep(50 * time.Millisecond)
		resp := answer(start, sent.Inc())
		resp.Request = r
		return resp, nil
	})
}

// failing is the error of an answer, as httplimit.Check has it.
func failing(status int) error {
	return httplimit.Check(&http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Body: http.NoBody})
}

// screen is a live page as its server sees it.
type screen struct {
	header http.Header
	mu     sync.Mutex
	last   []byte
}

func (p *screen) Header() http.Header { return p.header }
func (p *screen) WriteHeader(int)     {}
func (p *screen) Flush()              {}

func (p *screen) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = bytes.Clone(b)
	return len(b), nil
}

// state is the word of the page for its limiter.
func (p *screen) state(t *testing.T) string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var m struct {
		Limiters []struct {
			State string `json:"a"`
		}
	}
	require.NoError(t, json.Unmarshal(bytes.TrimPrefix(p.last, []byte("data: ")), &m))
	return m.Limiters[0].State
}

// Each line of a snapshot, of the log and of an error that docs/trouble.md quotes comes from a limiter in that trouble,
// and so does the word of the live page. Digits may differ: jitter is random.
func TestThePageOfTroubles(t *testing.T) {
	text, err := os.ReadFile("../../docs/trouble.md")
	require.NoError(t, err)
	page := masked(string(text))
	for name, c := range map[string]struct {
		config aimd.Config
		// workers run work for that long.
		workers int
		work    func(start time.Time) func(context.Context) error
		// told, instead, has the quota in the answers of a server.
		told            func(start time.Time, sent int64) *http.Response
		deadline, after time.Duration
		// tell are the fields of the snapshot that tell of the trouble, as docs/trouble.md has them.
		tell string
		// state is the word of the live page, or two by turns, log the beginning of a line of the log; fails: so do the calls.
		state, log string
		fails      bool
	}{
		"the window stays at 1": {
			tell: "cwnd queued overload cuts gap", workers: 20, after: 30 * time.Second, state: "limited", log: "cut: first",
			work: func(time.Time) func(context.Context) error {
				var mu sync.Mutex
				var last time.Time
				return func(context.Context) error { // two a second, and no rest is saved
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if now := time.Now(); now.Sub(last) >= 500*time.Millisecond {
						last = now
						return nil
					}
					return failing(http.StatusTooManyRequests)
				}
			},
		},
		"nothing moves": {
			tell: "in-flight queued", workers: 64, after: time.Minute, state: "limited",
			work: func(start time.Time) func(context.Context) error {
				p := patient{make(chan struct{}, 20)}
				return func(ctx context.Context) error {
					switch {
					case time.Since(start) > 5*time.Second: // it takes the request, and says nothing
						<-ctx.Done()
						return ctx.Err()
					case len(p.slots) == 20:
						return failing(http.StatusTooManyRequests)
					}
					return p.serve(ctx)
				}
			},
		},
		"pauses": {
			config: aimd.Config{Law: aimd.Reno(0.5)}, tell: "cwnd in-flight pauses paused-until", workers: 64, after: 9 * time.Second, state: "paused", log: "paused ",
			work: func(start time.Time) func(context.Context) error {
				return func(context.Context) error {
					time.Sleep(50 * time.Millisecond)
					if time.Since(start) < 2*time.Second {
						return nil
					}
					return failing(http.StatusServiceUnavailable)
				}
			},
		},
		"a block": {
			tell: "neutral pauses paused-until", workers: 20, after: 10 * time.Second, state: "paused", log: "blocked: ", fails: true,
			work: func(start time.Time) func(context.Context) error {
				return func(context.Context) error {
					time.Sleep(50 * time.Millisecond)
					if time.Since(start) < 2*time.Second {
						return nil
					}
					return failing(http.StatusForbidden)
				}
			},
		},
		"everything is refused at once": {
			tell: "in-flight queued quota used-up-until", workers: 20, after: 30 * time.Second, deadline: time.Minute, state: "idle", log: "used up: ", fails: true,
			told: func(start time.Time, sent int64) *http.Response {
				status := http.StatusOK
				if sent > 1000 {
					status = http.StatusTooManyRequests
				}
				return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Body: http.NoBody, Header: http.Header{
					"Ratelimit-Limit": {"1000"}, "Ratelimit-Remaining": {fmt.Sprint(max(0, 1000-sent))}, "Ratelimit-Reset": {fmt.Sprint(300 - int(time.Since(start).Seconds()))},
				}}
			},
		},
		"few workers": {
			tell: "cwnd in-flight queued", workers: 8, after: 20 * time.Second, state: "steady",
			work: func(time.Time) func(context.Context) error { return patient{make(chan struct{}, 100)}.serve },
		},
		"capped": {
			config: aimd.Config{MaxWindow: 16}, tell: "cwnd in-flight queued", workers: 64, after: 20 * time.Second, state: "capped",
			work: func(time.Time) func(context.Context) error { return patient{make(chan struct{}, 100)}.serve },
		},
		"nothing gets faster": {
			config: aimd.Config{Law: aimd.Reno(0.5)}, tell: "cwnd in-flight overload cuts", workers: 1000, after: 5 * time.Second, state: "growing",
			work: func(time.Time) func(context.Context) error { return patient{make(chan struct{}, 16)}.serve },
		},
		"nothing gets faster, aimd.New": {
			tell: "cwnd in-flight queued overload cuts", workers: 1000, after: 5 * time.Minute, state: "limited or growing", log: "shrank: slow",
			work: func(time.Time) func(context.Context) error { return patient{make(chan struct{}, 16)}.serve },
		},
		"memory grows": {
			config: aimd.Config{QueueBound: 100}, tell: "in-flight queued", workers: 200, after: 5 * time.Second, state: "limited", log: "full: ", fails: true,
			work: func(time.Time) func(context.Context) error {
				p := patient{make(chan struct{}, 4)}
				return func(ctx context.Context) error {
					if len(p.slots) == 4 {
						return failing(http.StatusTooManyRequests)
					}
					return p.serve(ctx)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c.config.Rand = rand.New(rand.NewPCG(1, 1))
				c.config.Observer = aimd.Log(slog.New(slog.NewJSONHandler(&log, nil)), 1000)
				lim, err := aimd.New(c.config)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				seen := &screen{header: http.Header{}}
				go live.Handler(live.Of(lim)).ServeHTTP(seen, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events?every=1s", nil))
				start := time.Now()
				do := func(ctx context.Context) error { return nil }
				if c.told != nil {
					client := (&httplimit.Transport{Base: serverOf(start, c.told), Limiter: lim}).Client()
					do = func(ctx context.Context) error {
						req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example", nil)
						if err != nil {
							return err
						}
						resp, err := client.Do(req)
						if err != nil {
							return err
						}
						return resp.Body.Close()
					}
				} else {
					work := c.work(start)
					do = func(ctx context.Context) error { return lim.Do(ctx, work) }
				}
				var all sync.WaitGroup
				var mu sync.Mutex
				var failed error
				for range c.workers {
					all.Go(func() {
						for ctx.Err() == nil {
							ctx, cancel := ctx, context.CancelFunc(func() {})
							if c.deadline > 0 {
								ctx, cancel = context.WithTimeout(ctx, c.deadline)
							}
							err := do(ctx)
							cancel()
							if err != nil && !errors.Is(err, context.Canceled) {
								mu.Lock()
								failed = err
								mu.Unlock()
								time.Sleep(time.Second)
							}
						}
					})
				}
				for time.Since(start) < c.after {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				snapshot, state := lim.Snapshot().String(), seen.state(t)
				mu.Lock()
				reason := failed
				if e := new(url.Error); errors.As(reason, &e) {
					reason = e.Err
				}
				mu.Unlock()
				cancel()
				all.Wait()
				require.NoError(t, lim.Close())

				t.Log(snapshot, "|", state)
				assert.Contains(t, strings.Split(c.state, " or "), state)
				// row is the rows of the table with these fields and these words.
				row := ""
				for line := range strings.Lines(page) {
					if strings.Contains(line, masked("`"+only(snapshot, c.tell)+"`")) && strings.Contains(line, "| "+c.state+" |") {
						row += line
					}
				}
				assert.NotEmpty(t, row, "no row of the page has %s and %s", only(snapshot, c.tell), c.state)
				said := logged(log.String(), c.log)
				t.Logf("%.190q", said[:min(8, len(said))])
				assert.Condition(t, func() bool {
					return c.log == "" || slices.ContainsFunc(said, func(line string) bool { return strings.Contains(row, masked(line)) })
				}, "the row has none of these lines: %.190q", said[:min(8, len(said))])
				if assert.Equal(t, c.fails, reason != nil, reason); c.fails && reason != nil {
					t.Log(reason)
					assert.Contains(t, row, masked(reason.Error()))
				}
			})
		})
	}
}

// only is the fields of a snapshot's line that are asked for, with the digits that it has.
func only(line, fields string) string {
	var all []string
	for _, f := range strings.Fields(fields) {
		m := regexp.MustCompile(f + `=("[^"]*"|\S+)`).FindString(line)
		all = append(all, m)
	}
	return strings.Join(all, " ")
}

// logged are the messages of a log that begin so.
func logged(log, begin string) (all []string) {
	for line := range strings.Lines(log) {
		var entry struct{ Msg string }
		if json.Unmarshal([]byte(line), &entry) == nil && strings.HasPrefix(entry.Msg, begin) {
			all = append(all, entry.Msg)
		}
	}
	return all
}

var numbers = regexp.MustCompile(`\d[\d.:]*((ms|h|m|s)(\d[\d.]*(ms|m|s))*)?`)

// masked is a text without its numbers and times.
func masked(s string) string { return numbers.ReplaceAllString(s, "N") }
