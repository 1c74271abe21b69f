package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/atomic"
)

func TestHowLongAProgramWaits(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"X-Stainless-Timeout: 600": 10 * time.Minute, "x-stainless-read-timeout: 1.5": 1500 * time.Millisecond,
		"grpc-timeout: 1500m": 1500 * time.Millisecond, "grpc-timeout: 2S": 2 * time.Second, "grpc-timeout: 24H": 24 * time.Hour,
		"x-envoy-expected-rq-timeout-ms: 250": 250 * time.Millisecond, "Request-Timeout: 1": time.Second,
		"X-Stainless-Timeout: NOT_GIVEN": 0, "X-Stainless-Timeout: -1": 0, "X-Stainless-Timeout: NaN": 0, "grpc-timeout: 25H": 0,
		"grpc-timeout: ": 0, "grpc-timeout: S": 0, "grpc-timeout: 5x": 0, "grpc-timeout: 1n": 0, "Timeout: 1": 0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		h := http.Header{}
		h.Set(name, value)
		assert.Equal(t, want, patienceOf(h), header)
	}
}

// spike plays programs that leave after a second: .8 of what a service of 32 slots takes, and four times as much for 2
// s. What is above the slots the service refuses, or lets wait. It does not see that a program has left. The result is
// the share of those done of those that came from 3 s after the spike on.
func spike(t *testing.T, refuses bool, headers ...string) (share float64) {
	const slots, load, rest = 32, 256, 8 * time.Second
	inBubble(t, nil, nil, func(t *testing.T, b bubble) {
		places := make(chan struct{}, slots)
		random, mu := rand.New(rand.NewPCG(5, 7)), sync.Mutex{}
		draw := func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return 50*time.Millisecond + time.Duration(random.Int64N(int64(100*time.Millisecond)))
		}
		service := newPipes()
		b.base.DialContext = func(context.Context, string, string) (net.Conn, error) { return service.dial() }
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			select {
			case places <- struct{}{}:
			default:
				if refuses {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				places <- struct{}{}
			}
			time.Sleep(draw())
			<-places
		})}
		go server.Serve(service)
		defer server.Close()
		var all sync.WaitGroup
		var done, asked atomic.Int32
		ask := func(counts bool) {
			c, err := b.programs.dial()
			if !assert.NoError(t, err) {
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Second))
			if _, err := io.WriteString(c, get("/", headers...)); err != nil {
				return
			}
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && resp.StatusCode == 200 && counts {
				done.Inc()
			}
		}
		began := time.Now()
		for at := time.Duration(0); at < 10*time.Second+rest; at = time.Since(began) {
			n, counts := 1, at >= 10*time.Second
			if at >= 5*time.Second && at < 7*time.Second {
				n = 4
			}
			for range n {
				if counts {
					asked.Inc()
				}
				all.Go(func() { ask(counts) })
			}
			time.Sleep(time.Second / load)
		}
		all.Wait()
		share = float64(done.Load()) / float64(asked.Load())
		time.Sleep(time.Minute)
		b.settled(t, "all")
	})
	return share
}

// A queue of programs that leave after a second: oldest first, each was sent when it had left, .03 and then .00 for
// ever. Those that say when they leave are served in time again 3 s after the spike.
func TestASpikeOfProgramsThatSayWhenTheyLeave(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		assert.GreaterOrEqual(t, spike(t, refuses, "X-Stainless-Timeout: 1"), .95, "refuses: %v", refuses)
	}
}

// Those that do not say it are served in time, too: the newest goes first once an eighth of them has left.
func TestASpikeOfProgramsThatDoNotSayWhenTheyLeave(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		share := spike(t, refuses)
		t.Logf("refuses %v: %.3f", refuses, share)
		assert.GreaterOrEqual(t, share, .95, "refuses: %v", refuses)
	}
}

// A program's time ends at the head of the answer: a stream goes on. Before it the program gets a 504 in flight, and a
// 429 if it was never sent.
func TestTheTimeOfAProgramEndsAtTheHead(t *testing.T) {
	inBubble(t, func(conn net.Conn) {
		defer conn.Close()
		for in := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.URL.Path == "/slow" {
				time.Sleep(20 * time.Second)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
			time.Sleep(20 * time.Second)
			if _, err := io.WriteString(conn, "hi"); err != nil {
				return
			}
		}
	}, func(s *settings) { s.maxWindow = 1 }, func(t *testing.T, b bubble) {
		status, _, text := b.ask(t, get("/stream", "X-Stainless-Timeout: 5"))
		assert.Equal(t, "200 hi", fmt.Sprint(status, " ", text))
		began := time.Now()
		waits := make(chan int, 1)
		flies := make(chan int, 1)
		go func() {
			status, _, _ := b.ask(t, "POST"+get("/slow", "X-Stainless-Timeout: 5", "Content-Length: 0")[3:])
			flies <- status
		}()
		synctest.Wait()
		go func() {
			status, _, _ := b.ask(t, get("/stream", "X-Stainless-Timeout: 4"))
			waits <- status
		}()
		assert.Equal(t, 429, <-waits)
		assert.Equal(t, 504, <-flies)
		assert.Equal(t, 5*time.Second, time.Since(began))
		time.Sleep(time.Minute)
		b.settled(t, "all")
	})
}
