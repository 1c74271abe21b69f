package proxy

import (
	"fmt"
	"io"
	"net"
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
)

// together sends so many requests at once, and counts the answers by status.
func (b bubble) together(t *testing.T, n int, headers ...string) (by map[int]int, took time.Duration) {
	t.Helper()
	by, began := map[int]int{}, time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			status, _, _ := b.ask(t, get(fmt.Sprint("/", i), headers...))
			mu.Lock()
			defer mu.Unlock()
			by[status]++
		})
	}
	all.Wait()
	return by, time.Since(began)
}

// Few slots cost few refusals, and many slots are found soon. The law lets the first 22 refusals pass, which are most of
// those of 8 slots.
func TestTheWindowAtTheStart(t *testing.T) {
	for _, c := range []struct {
		slots, requests int
		span, attempts  float64
	}{{8, 200, 1.10, 1.2}, {100, 2000, 1.20, 1.1}} {
		serve, refused := slotted(int64(c.slots), 300*time.Millisecond)
		inBubble(t, serve, nil, func(t *testing.T, b bubble) {
			by, took := b.together(t, c.requests)
			assert.Equal(t, map[int]int{200: c.requests}, by)
			span := took.Seconds() / (0.3 * float64(c.requests/c.slots))
			each := 1 + float64(refused.Load())/float64(c.requests)
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
	serve, refused := slotted(2, 2*time.Second)
	inBubble(t, serve, nil, func(t *testing.T, b bubble) {
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

// Requests that take longer than --hold, of which all that fit begin at once: what waits behind them is not lost.
func TestAnswersThatTakeLongerThanTheHold(t *testing.T) {
	serve, _ := slotted(8, 4*time.Minute)
	inBubble(t, serve, nil, func(t *testing.T, b bubble) {
		by, took := b.together(t, 80)
		assert.Equal(t, map[int]int{200: 80}, by)
		assert.LessOrEqual(t, took, 50*time.Minute, "40 are the optimum")
		b.settled(t, "all")
	})
}

// A request waits for --idle instead of --hold from the time on at which an attempt has been in flight for half of the
// hold: a quarter would be an answer that is only slow.
func TestTheServiceIsAtWorkFromHalfOfTheHoldOn(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, b bubble) {
		now := time.Now()
		p := &pulse{made: now}
		b.pulses.Store("key", p)
		p.fly(&wait{flown: now})
		w := newWait(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), b.proxy, "key")
		w.since = now
		time.Sleep(b.hold/2 - time.Second)
		assert.Equal(t, b.hold/2+time.Second, w.left())
		time.Sleep(time.Second)
		assert.Equal(t, b.idle-b.hold/2, w.left())
	})
}

// An attempt that takes longer than --hold, and then fails: a refusal is waited out, and all else ends at once.
func TestAnAttemptThatFailsAfterTheHold(t *testing.T) {
	for status, want := range map[int]struct {
		status, sent int
		took         time.Duration
	}{429: {200, 2, 6 * time.Minute}, 503: {200, 2, 6 * time.Minute}, 500: {502, 1, 3 * time.Minute}, 0: {504, 1, 5 * time.Minute}} {
		var sent atomic.Int64
		inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
			n := sent.Inc()
			time.Sleep(3 * time.Minute)
			switch {
			case status == 0:
				time.Sleep(10 * time.Minute)
			case n == 1:
				w.WriteHeader(status)
			}
		}), nil, func(t *testing.T, b bubble) {
			began := time.Now()
			got, header, _ := b.ask(t, get("/"))
			assert.Equal(t, want.status, got, "%d: %s", status, header)
			assert.EqualValues(t, want.sent, sent.Load(), status)
			assert.InDelta(t, want.took.Seconds(), time.Since(began).Seconds(), 5, status)
			b.settled(t, "all")
			time.Sleep(15 * time.Minute) // the service ends
		})
	}
}

// An answer of a known length that goes on is a sign of life: what waits behind it goes on waiting. A stream may have no end, so
// its bytes are the life of its own request alone, and its end that of all.
func TestBytesOfAnAnswerAreALife(t *testing.T) {
	for _, c := range []struct {
		head string
		by   map[int]int
		took time.Duration
	}{
		{"Content-Length: 900", map[int]int{200: 3}, 1500 * time.Second},
		{"Content-Type: text/event-stream", map[int]int{200: 1, 429: 2}, 500 * time.Second},
	} {
		inBubble(t, func(conn net.Conn) {
			defer conn.Close()
			if _, err := io.ReadAtLeast(conn, make([]byte, 1<<10), 20); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+c.head+"\r\nConnection: close\r\n\r\n")
			for range 100 {
				time.Sleep(5 * time.Second)
				_, _ = io.WriteString(conn, "data: x\n\n")
			}
		}, func(s *settings) { s.maxWindow = 1 }, func(t *testing.T, b bubble) {
			by, took := b.together(t, 3)
			assert.Equal(t, c.by, by, c.head)
			assert.Equal(t, c.took, took)
			b.settled(t, "all")
		})
	}
}

// A service that only refuses and one that is away: each request ends after the hold; at one that is silent after --idle.
func TestTheHoldOfAServiceThatIsNotWell(t *testing.T) {
	refuses := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
	inBubble(t, handled(refuses), nil, func(t *testing.T, b bubble) {
		by, took := b.together(t, 50)
		assert.Equal(t, map[int]int{429: 50}, by)
		assert.InDelta(t, 120, took.Seconds(), 10)
		b.settled(t, "refusals")
	})
	silent := func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Minute) }
	inBubble(t, handled(silent), func(s *settings) { s.maxWindow = 1 }, func(t *testing.T, b bubble) {
		by, took := b.together(t, 3)
		assert.Equal(t, 3, by[504]+by[429], "%v: one may find the slot of another", by)
		assert.LessOrEqual(t, took, 2*b.idle+time.Second)
		b.settled(t, "silence")
		time.Sleep(20 * time.Minute) // the service ends
	})
	late := func(w http.ResponseWriter, r *http.Request) { time.Sleep(10 * time.Second); refuses(w, r) }
	inBubble(t, handled(late), func(s *settings) { s.maxWindow, s.hold = 1, 30*time.Second }, func(t *testing.T, b bubble) {
		go b.ask(t, get("/"))
		synctest.Wait()
		status, header, _ := b.ask(t, get("/"))
		assert.Regexp(t, "^429 1 .*the time of --hold is over", fmt.Sprint(status, " ", header.Get("Retry-After"), " ", header.Get("Aimd-Reason")))
		time.Sleep(20 * time.Minute)
		b.settled(t, "a slot that is taken")
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
		w := newWait(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), b.proxy, all)
		defer w.end()
		w.begin()
		require.NoError(t, w.fly())
		resp := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: new(http.Request)}
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
