package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// together sends so many requests at once, and counts the answers by status.
func (b bubble) together(t *testing.T, n int) (by map[int]int, took time.Duration) {
	t.Helper()
	by, began := map[int]int{}, time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			status, _, _ := b.ask(t, get(fmt.Sprint("/", i)))
			mu.Lock()
			defer mu.Unlock()
			by[status]++
		})
	}
	all.Wait()
	return by, time.Since(began)
}

// Few slots cost few refusals, and many slots are found soon.
func TestTheWindowAtTheStart(t *testing.T) {
	for _, c := range []struct {
		slots, requests int
		span, attempts  float64
	}{{8, 200, 1.10, 1.08}, {100, 2000, 1.20, 1.05}} {
		var attempts atomic.Int64
		var slots chan struct{} // of the bubble
		inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
			attempts.Inc()
			select {
			case slots <- struct{}{}:
				time.Sleep(300 * time.Millisecond)
				<-slots
			default:
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}), func(*settings) { slots = make(chan struct{}, c.slots) }, func(t *testing.T, b bubble) {
			by, took := b.together(t, c.requests)
			assert.Equal(t, map[int]int{200: c.requests}, by)
			span := took.Seconds() / (0.3 * float64(c.requests/c.slots))
			each := float64(attempts.Load()) / float64(c.requests)
			assert.LessOrEqual(t, span, c.span)
			assert.LessOrEqual(t, each, c.attempts)
			t.Logf("%d slots: %.3f of the optimum @ %.3f", c.slots, span, each)
		})
	}
}

// quota takes so many requests in each window, and refuses the rest.
func quota(n int, window time.Duration) http.HandlerFunc {
	began, counts := time.Now(), sync.Map{}
	return func(w http.ResponseWriter, _ *http.Request) {
		count, _ := counts.LoadOrStore(time.Since(began)/window, new(atomic.Int64))
		if count.(*atomic.Int64).Inc() > int64(n) {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// The service is well, and only the queue is long: the wait lasts for longer than --hold, and nothing is lost.
func TestAHealthyQueueLosesNothing(t *testing.T) {
	var refused atomic.Int64
	var slots chan struct{}
	inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case slots <- struct{}{}:
			time.Sleep(2 * time.Second)
			<-slots
		default:
			refused.Inc()
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}), func(*settings) { slots = make(chan struct{}, 2) }, func(t *testing.T, b bubble) {
		by, took := b.together(t, 400) // one a second: 400 s
		assert.Equal(t, map[int]int{200: 400}, by)
		assert.Greater(t, took, 3*b.hold)
		b.settled(t, "all")
		t.Logf("400 requests of 2 slots: %v, %d refused", took, refused.Load())
	})
}

// A quota of a minute, as many services have it, and of half a minute more: no request succeeds for most of the time. A
// hold of a minute would be too short.
func TestTheHoldIsLongerThanAQuotaOfAMinute(t *testing.T) {
	for hold, lost := range map[time.Duration]bool{defaults.hold: false, defaults.hold / 2: true} {
		service := http.HandlerFunc(nil)
		var once sync.Once
		inBubble(t, handled(func(w http.ResponseWriter, r *http.Request) {
			once.Do(func() { service = quota(60, 90*time.Second) })
			service(w, r)
		}), func(s *settings) { s.hold = hold }, func(t *testing.T, b bubble) {
			by, took := b.together(t, 300)
			assert.Equal(t, lost, by[200] < 300, "%v: %v in %v", hold, by, took)
			b.settled(t, "all")
		})
	}
}

// Streams that go on are a sign of life: what waits behind them goes on waiting.
func TestBytesOfAStreamAreALife(t *testing.T) {
	inBubble(t, func(c net.Conn) {
		defer c.Close()
		if _, err := io.ReadAtLeast(c, make([]byte, 1<<10), 20); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
		for range 100 {
			time.Sleep(5 * time.Second)
			_, _ = io.WriteString(c, "data: x\n\n")
		}
	}, func(s *settings) { s.maxWindow = 1 }, func(t *testing.T, b bubble) {
		by, took := b.together(t, 3)
		assert.Equal(t, map[int]int{200: 3}, by)
		assert.Equal(t, 1500*time.Second, took)
		b.settled(t, "all")
	})
}

// A service that only refuses, one that is silent, and one that is away: each request ends after the hold.
func TestTheHoldOfAServiceThatIsNotWell(t *testing.T) {
	refuses := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
	inBubble(t, handled(refuses), nil, func(t *testing.T, b bubble) {
		by, took := b.together(t, 50)
		assert.Equal(t, map[int]int{429: 50}, by)
		assert.InDelta(t, 120, took.Seconds(), 10)
		b.settled(t, "refusals")
	})
	silent := func(http.ResponseWriter, *http.Request) { time.Sleep(4 * time.Minute) }
	inBubble(t, handled(silent), func(s *settings) { s.maxWindow = 1 }, func(t *testing.T, b bubble) {
		by, took := b.together(t, 3)
		assert.Equal(t, map[int]int{200: 1, 429: 2}, by, "an attempt in flight is not cut off")
		assert.Equal(t, 4*time.Minute, took)
		b.settled(t, "silence")
	})
	inBubble(t, func(c net.Conn) { c.Close() }, nil, func(t *testing.T, b bubble) {
		status, header, _ := b.ask(t, get("/"))
		assert.Equal(t, 502, status, header)
		b.settled(t, "away")
	})
}

// Others succeed, and one request is refused again and again: it ends after a quarter of an hour.
func TestTheHoldOfARequestThatIsRefused(t *testing.T) {
	inBubble(t, handled(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			time.Sleep(10 * time.Second)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		time.Sleep(time.Second)
	}), nil, func(t *testing.T, b bubble) {
		ended := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					status, _, _ := b.ask(t, get("/fine"))
					assert.Equal(t, 200, status)
				}
			}
		})
		began := time.Now()
		status, _, _ := b.ask(t, get("/refused"))
		assert.Equal(t, 429, status)
		took := time.Since(began)
		assert.InDelta(t, 15, took.Minutes(), 1)
		close(ended)
		all.Wait()
		b.settled(t, "all")
		t.Logf("a request that is always refused: %v", took)
	})
}

// The 429 says when there is room: after the pause, and after those that wait.
func TestTheRefusalSaysWhenThereIsRoom(t *testing.T) {
	inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "300")
		w.Header().Set("X-Ratelimit-Limit-Requests", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}), nil, func(t *testing.T, b bubble) {
		began := time.Now()
		status, header, _ := b.ask(t, get("/"))
		assert.Equal(t, 429, status)
		assert.Equal(t, "300", header.Get("Retry-After"))
		assert.Equal(t, "7", header.Get("X-Ratelimit-Limit-Requests"))
		assert.Zero(t, time.Since(began), "it would wait for longer than the hold")
		b.settled(t, "all")
	})
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Second) }),
		func(s *settings) { s.queue, s.maxWindow = 6, 1 }, func(t *testing.T, b bubble) {
			status, _, _ := b.ask(t, get("/"))
			require.Equal(t, 200, status)
			var all sync.WaitGroup
			for range 7 {
				all.Go(func() { b.ask(t, get("/")) })
			}
			synctest.Wait()
			status, header, text := b.ask(t, get("/"))
			assert.Equal(t, 429, status)
			assert.Contains(t, text, "queue full")
			after, err := strconv.Atoi(header.Get("Retry-After"))
			require.NoError(t, err)
			assert.InDelta(t, 60, after, 5, "six of 10 s wait")
			all.Wait()
			b.settled(t, "all")
		})
}

// The timer of the hold fires, and its goroutine gets the lock after the answer has begun.
func TestTheHoldThatFiresWithTheAnswerDoesNotEndIt(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, b bubble) {
		w := newWait(t.Context(), b.proxy, all)
		defer w.end()
		w.begin()
		require.NoError(t, w.fly())
		resp := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
		w.land(resp, nil)
		time.Sleep(2 * b.hold)
		w.watch(resp)
		w.late()
		assert.NoError(t, w.Err())
		time.Sleep(b.idle - 1)
		_, err := resp.Body.Read(nil)
		assert.Equal(t, io.EOF, err)
		time.Sleep(b.idle - 1)
		assert.NoError(t, w.Err())
		time.Sleep(2 * time.Nanosecond)
		assert.Error(t, w.Err())
	})
}
