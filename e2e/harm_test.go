package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/httplimit"
)

// versus holds the median of the default law's time over the time of Reno 0.9, of up to three
// rounds. A round plays both laws at once, so that other work on the machine slows both. With
// E2E_RUNS it plays them in turn, and all rounds are played.
func versus(t *testing.T, most float64, run func(t *testing.T, w law) time.Duration) {
	t.Helper()
	rounds := max(3, runs(t))
	var ratios []float64
	good := 0
	for range rounds {
		var took [2]time.Duration
		passed := t.Run("round", func(t *testing.T) {
			for i, w := range []law{reno, probe} {
				t.Run(w.name, func(t *testing.T) {
					beside(t)
					took[i] = run(t, w)
				})
			}
		})
		if !passed {
			return
		}
		r := ratio(took[1], took[0])
		if ratios = append(ratios, r); r <= most {
			good++
		}
		figures.log(t, "%.3f of the time of Reno 0.9: %v over %v", r, took[1].Round(time.Millisecond), took[0].Round(time.Millisecond))
		if !earnest() && max(good, len(ratios)-good) > rounds/2 {
			break
		}
	}
	assert.Greater(t, good, len(ratios)/2, "over the time of Reno 0.9: %.3f; wanted is a median of at most %v", ratios, most)
}

// One of four machines behind haproxy answers 503 at once. If haproxy prefers the machine with
// the fewest connections, that machine gets most of the requests.
func TestOneOfFourBackendsRefuses(t *testing.T) {
	for _, c := range []struct {
		balance  string
		delay    time.Duration
		requests int
	}{
		{"roundrobin", 5 * time.Millisecond, 1000},
		{"roundrobin", 50 * time.Millisecond, 500},
	} {
		t.Run(fmt.Sprint(c.balance, " ", c.delay), func(t *testing.T) {
			beside(t)
			ctx := begin(t)
			versus(t, 1.5, func(t *testing.T, w law) time.Duration {
				var upstreams []string
				for range 3 {
					upstreams = append(upstreams, startBackend(t, c.delay).address)
				}
				broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusServiceUnavailable)
				}))
				defer broken.Close()
				upstreams = append(upstreams, strings.TrimPrefix(broken.URL, "http://"))
				j := job{address: startHAProxy(t, haproxyConfig{Balance: c.balance}, upstreams...), requests: c.requests}
				d := j.run(ctx, t, w)
				require.NotZero(t, d.Overloads)
				return d.took
			})
		})
	}
}

// Each second request is refused at once: 200 GETs, which both laws do within a second on a
// quiet machine.
func TestHalfOfTheRequestsRefused(t *testing.T) {
	const gets = 200
	within := amount(10*time.Second, 30*time.Second)
	for _, w := range laws {
		t.Run(w.name, func(t *testing.T) {
			beside(t)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			var came, answered atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if came.Add(1)%2 == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
			defer s.Close()
			l := w.limiter(t)
			c := httplimit.Client(l)
			began := time.Now()
			var all sync.WaitGroup
			for range gets {
				all.Go(func() {
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
					if !assert.NoError(t, err) {
						return
					}
					resp, err := c.Do(req)
					if err != nil {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
						return
					}
					assert.Equal(t, http.StatusOK, resp.StatusCode)
					_ = resp.Body.Close()
					answered.Add(1)
				})
			}
			all.Wait()
			figures.log(t, "%d of %d GETs in %v, %d requests", answered.Load(), gets, time.Since(began).Round(time.Millisecond), came.Load())
			c.CloseIdleConnections()
			requireIdle(t, l)
			assert.EqualValues(t, gets, answered.Load(), "answered within %v", within)
		})
	}
}

// aimd upload takes about as long with the default law as with Reno 0.9: if blocks of small
// files and of large files take turns, and if the machine stops the process again and again.
func TestUploadVersusReno(t *testing.T) {
	const small, large = 4 << 10, 8 << 20
	for _, c := range []struct {
		name  string
		sizes func(i int) int
		files int
		stops bool
		most  float64
	}{
		{"blocks of 4 KiB and of 8 MiB", func(i int) int {
			if i%220 >= 200 {
				return large
			}
			return small
		}, 440, false, amount(1.05, 1.4)},
		{"stopped for 30 ms", func(int) int { return small }, 1000, true, amount(1.06, 1.5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			beside(t)
			ctx := begin(t)
			dir := t.TempDir()
			for i := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d", i)), body(i, c.sizes(i)), 0o600))
			}
			versus(t, c.most, func(t *testing.T, w law) time.Duration {
				u := &uploads{dir: dir, gateway: startGateway(t, slots)}
				steward(ctx, t, u.gateway.address)
				began := time.Now()
				p := startProcess(t, u.command(t, "tree", "--law", strings.Fields(w.name)[0]))
				ended := make(chan bool)
				var stopping sync.WaitGroup
				if c.stops {
					stopping.Go(func() { stopAgainAndAgain(p, ended) })
				}
				_ = p.cmd.Wait()
				took := time.Since(began)
				close(ended)
				stopping.Wait()
				require.Equal(t, c.files, said(t, p).Stored)
				return took
			})
		})
	}
}

// stopAgainAndAgain stops a process for 30 ms, 150 to 450 ms apart.
func stopAgainAndAgain(p *process, ended <-chan bool) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(150*time.Millisecond + rand.N(300*time.Millisecond)):
		}
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(30 * time.Millisecond)
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	}
}
