package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// One of four machines behind haproxy answers 503 at once; each machine has its turn.
func TestOneOfFourBackendsRefuses(t *testing.T) {
	for _, c := range []struct {
		delay    time.Duration
		requests int
	}{{5 * time.Millisecond, 1000}, {50 * time.Millisecond, 500}} {
		t.Run(c.delay.String(), func(t *testing.T) {
			beside(t)
			ctx := begin(t)
			versus(t, 1.5, func(t *testing.T, w law) time.Duration {
				broken := &backend{refuses: func(int) bool { return true }}
				upstreams := []string{broken.serve(t).address}
				for range 3 {
					upstreams = append(upstreams, (&backend{delay: c.delay}).serve(t).address)
				}
				j := job{address: haproxy{}.front(t, upstreams...), requests: c.requests}
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
			b := (&backend{refuses: func(n int) bool { return n%2 == 1 }}).serve(t)
			l := w.limiter(t, aimd.Config{})
			c := httplimit.Client(l)
			defer c.CloseIdleConnections()
			began := time.Now()
			together(gets, gets, func(i int) {
				assert.NoError(t, ask(ctx, c, b.address, fmt.Sprint("/", i), nil), "answered within %v", within)
			})
			figures.log(t, "%d of %d GETs in %v, %d requests", len(b.done), gets, time.Since(began).Round(time.Millisecond), b.requests)
			requireIdle(t, l)
			require.Len(t, b.done, gets)
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
			files := newUploads(ctx, t, c.files, c.sizes)
			versus(t, c.most, func(t *testing.T, w law) time.Duration {
				u := &uploads{dir: files.dir}
				u.empty(ctx, t)
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
