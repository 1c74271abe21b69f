package proxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/s3test"
)

// Whoever stops, wherever it is, holds nobody else's place: a small request of another key is answered, or told 429, within
// --hold. Those who stop have all connections, and all memory that there is for bodies.
func TestWhoStopsHoldsNoOther(t *testing.T) {
	const places = 4
	head := func(extra string) string { return "POST /stops HTTP/1.1\r\nHost: localhost\r\n" + extra + "\r\n" }
	half := strings.Repeat("x", 4<<20)
	for name, c := range map[string]struct {
		sends string
		// drips is sent each 4 minutes, which is less than --idle.
		drips string
		// status is what the other gets: 429, or 200 where those who stop are known to.
		status int
		within time.Duration
	}{
		"connects and says nothing":  {"", "", 200, 10 * time.Second},
		"half a header":              {"GET / HTTP/1.1\r\nHost: loc", "", 200, 10 * time.Second},
		"an idle connection":         {"GET /idle HTTP/1.1\r\nHost: localhost\r\n\r\n", "", 200, 10 * time.Second},
		"a body that never comes":    {head("Content-Length: 10\r\n"), "", 429, defaults.hold + time.Second},
		"half a body":                {head("Content-Length: 8388608\r\n") + half, "", 429, defaults.hold + time.Second},
		"half a body, which drips":   {head("Content-Length: 8388608\r\n") + half, "x", 429, defaults.hold + time.Second},
		"a body of chunks that drip": {head("Transfer-Encoding: chunked\r\n") + "800000\r\n" + half, "x", 429, defaults.hold + time.Second},
		"reads no answer":            {get("/endless"), "", 429, defaults.hold + time.Second},
	} {
		for _, other := range []string{get("/", "X-Api-Key: other"), "POST" + get("/", "X-Api-Key: other", "Content-Length: 10")[3:] + "0123456789"} {
			t.Run(name+" "+other[:4], func(t *testing.T) {
				inBubble(t, answering(func(conn net.Conn, r *http.Request) error {
					_, _ = io.Copy(io.Discard, r.Body)
					if r.URL.Path == "/endless" {
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"+half)
						return io.EOF
					}
					_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					return err
				}), func(s *settings) { s.memory = 8 << 20 }, func(t *testing.T, b bubble) {
					l, server := s3test.Listen(), b.proxy.server(b.proxy)
					go server.Serve(newBounded(l, places, b.proxy, server))
					ended := make(chan struct{})
					var all sync.WaitGroup
					for range places {
						conn, err := l.DialContext(t.Context(), "", "")
						require.NoError(t, err)
						if strings.HasPrefix(name, "an idle") {
							go io.Copy(io.Discard, conn)
						}
						all.Go(func() {
							defer conn.Close()
							_, _ = io.WriteString(conn, c.sends)
							for {
								select {
								case <-ended:
									return
								case <-time.After(4 * time.Minute):
									if _, err := io.WriteString(conn, c.drips); err != nil {
										return
									}
								}
							}
						})
					}
					synctest.Wait()
					began := time.Now()
					status, header, text := bubble{b.proxy, l, server}.ask(t, other)
					assert.Equal(t, c.status, status, text)
					assert.LessOrEqual(t, time.Since(began), c.within)
					assert.Equal(t, status == 429, header.Get("Retry-After") != "")
					close(ended)
					all.Wait()
					assert.NoError(t, server.Close())
					time.Sleep(time.Second)
					b.settled(t, name)
				})
			})
		}
	}
}

// Many that wait for a place are all told once none has come for --hold; a place that comes now and then loses nothing, however
// long the line is.
func TestALineForPlacesIsTold(t *testing.T) {
	for _, moves := range []bool{false, true} {
		inBubble(t, handled(func(http.ResponseWriter, *http.Request) {
			if moves {
				time.Sleep(time.Minute)
			} else {
				time.Sleep(4 * time.Minute)
			}
		}), nil, func(t *testing.T, b bubble) {
			l, server := s3test.Listen(), b.proxy.server(b.proxy)
			go server.Serve(newBounded(l, 2, b.proxy, server))
			by, took := bubble{b.proxy, l, server}.together(t, 30)
			if moves {
				assert.Equal(t, map[int]int{200: 30}, by)
				assert.Equal(t, 15*time.Minute, took.Round(30*time.Second))
			} else {
				assert.Equal(t, map[int]int{200: 2, 429: 28}, by)
			}
			assert.NoError(t, server.Close())
		})
	}
}

// Those that are told and say nothing are eight at a time, and go after 5 s: the files for all else are 16.
func TestThoseThatAreToldAreFew(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(4 * time.Minute) }), nil, func(t *testing.T, b bubble) {
		l, server := s3test.Listen(), b.proxy.server(b.proxy)
		go server.Serve(newBounded(l, 2, b.proxy, server))
		for range 2 {
			go bubble{b.proxy, l, server}.ask(t, get("/"))
		}
		synctest.Wait()
		var accepted atomic.Int32
		for range 30 {
			go func() {
				if conn, err := l.DialContext(t.Context(), "", ""); err == nil {
					accepted.Inc()
					_, _ = io.Copy(io.Discard, conn)
				}
			}()
		}
		synctest.Wait()
		assert.EqualValues(t, 1, accepted.Load(), "one waits, and those behind it")
		time.Sleep(b.hold + 2*time.Second)
		assert.EqualValues(t, 9, accepted.Load())
		time.Sleep(30 * time.Second)
		assert.EqualValues(t, 30, accepted.Load())
		assert.NoError(t, server.Close())
		time.Sleep(4 * time.Minute) // the service goes on
	})
}

// A body of a told length that drips gives its slot back: 64 KiB an --idle are the least, for a short body all of it. One
// that brings so much may be as slow as it likes.
func TestABodyThatDrips(t *testing.T) {
	for _, c := range []struct {
		length, part int
		want         int
	}{{1_000_000, 1, 0}, {1_000_000, 60 << 10, 0}, {1_000_000, 66 << 10, 200}, {10, 1, 400}, {10, 5, 200}} {
		inBubble(t, handled(func(http.ResponseWriter, *http.Request) {}), func(s *settings) { s.maxWindow, s.buffer = 1, 1<<10 }, func(t *testing.T, b bubble) {
			conn := b.dial()
			defer conn.Close()
			go func() {
				fmt.Fprintf(conn, "POST /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", c.length)
				for sent := 0; sent < c.length; {
					n, err := conn.Write(make([]byte, min(c.part, c.length-sent)))
					if sent += n; err != nil {
						return
					}
					time.Sleep(b.idle - time.Second)
				}
			}()
			status := make(chan int, 1)
			go func() {
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || resp.StatusCode == 502 || resp.StatusCode == 504 {
					status <- 0 // it is cut off
					return
				}
				status <- resp.StatusCode
			}()
			began, by := time.Now(), map[int]int{}
			for by[200] == 0 && time.Since(began) < 6*time.Hour {
				s, _, _ := b.ask(t, get("/"))
				by[s]++
			}
			assert.NotZero(t, by[200], "%+v: %v in 6 h", c, by)
			assert.Equal(t, c.want, <-status, "%+v", c)
			time.Sleep(2 * b.idle)
			b.settled(t, fmt.Sprint(c))
		})
	}
}

// byHand serves HTTP/2 with these settings (id, value, ...). It answers pings, and each stream whose request is complete
// with an empty 200.
func byHand(settings ...uint32) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		var mu sync.Mutex
		write := func(kind, flags byte, id uint32, payload []byte) {
			mu.Lock()
			defer mu.Unlock()
			n := len(payload)
			f := binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, id)
			_, _ = c.Write(append(f, payload...))
		}
		if _, err := io.ReadFull(c, make([]byte, 24)); err != nil {
			return
		}
		var all []byte
		for i := 0; i < len(settings); i += 2 {
			all = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(all, uint16(settings[i])), settings[i+1])
		}
		go write(4, 0, 0, all)
		for {
			head := make([]byte, 9)
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
			if _, err := io.ReadFull(c, payload); err != nil {
				return
			}
			kind, flags, id := head[3], head[4], binary.BigEndian.Uint32(head[5:])
			switch {
			case kind == 4 && flags&1 == 0:
				go write(4, 1, 0, nil)
			case kind == 6 && flags&1 == 0:
				go write(6, 1, 0, payload)
			case kind <= 1 && flags&1 != 0:
				go write(1, 5, id, []byte{0x88}) // :status 200
			}
		}
	}
}

// A service of HTTP/2 that takes the head of a request, answers each ping, and gives no room for the body: net/http reads a
// small body to its end before it waits for that room. The request ends after --idle, and another's is answered meanwhile.
func TestAServiceOfHTTP2WithoutRoomForABody(t *testing.T) {
	for _, size := range []int{2, 20_000, 100_000} {
		inBubble(t, byHand(4, 0), func(s *settings) { s.idle, s.hold = 5*time.Minute, time.Minute }, func(t *testing.T, b bubble) {
			b.base.Protocols = new(http.Protocols)
			b.base.Protocols.SetUnencryptedHTTP2(true)
			status, _, _ := b.ask(t, get("/"))
			require.Equal(t, 200, status)
			began := time.Now()
			ended := b.asks(t, "POST"+get("/", fmt.Sprint("Content-Length: ", size))[3:]+strings.Repeat("x", size))
			time.Sleep(time.Second)
			status, _, _ = b.ask(t, get("/", "X-Api-Key: other"))
			assert.Equal(t, 200, status)
			assert.Less(t, time.Since(began), b.hold)
			assert.Equal(t, 504, <-ended, size)
			assert.Equal(t, b.idle, time.Since(began), size)
			time.Sleep(time.Minute)
			b.settled(t, fmt.Sprint(size))
		})
	}
}

// A service answers before it has read a body, and reads it while the answer is open. The bodies of others that come meanwhile
// take no part of it.
func TestABodyUnderWayIsNoOthers(t *testing.T) {
	const size = 200_000
	var goesOn chan struct{} // of the bubble
	inBubble(t, func(conn net.Conn) {
		defer conn.Close()
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if !assert.NoError(t, err) {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n")
		if r.URL.Path == "/a" {
			<-goesOn
		}
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, size, strings.Count(string(body), r.URL.Path[1:]), r.URL.Path)
		_, _ = io.WriteString(conn, "k")
	}, func(*settings) { goesOn = make(chan struct{}) }, func(t *testing.T, b bubble) {
		ask := func(of string) {
			status, _, text := b.ask(t, "POST"+get("/"+of, fmt.Sprint("Content-Length: ", size))[3:]+strings.Repeat(of, size))
			assert.Equal(t, 200, status)
			assert.Equal(t, "k", text)
		}
		var first sync.WaitGroup
		first.Go(func() { ask("a") })
		synctest.Wait()
		for range 4 {
			ask("b")
		}
		close(goesOn)
		first.Wait()
		b.settled(t, "all")
	})
}

// The parts of a body that was sent are used for the next: otherwise each MiB leaves a MiB of garbage. The race detector has a
// pool forget one part in four.
func TestTheNextBodyIsKeptInTheSameParts(t *testing.T) {
	const size, bodies = 1 << 20, 64
	p := made(t, nil)
	body, took := make([]byte, size), new(runtime.MemStats)
	runtime.ReadMemStats(took)
	before := took.TotalAlloc
	for range bodies {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", bytes.NewReader(body))
		w := newWait(r, p, all)
		require.NoError(t, w.keep(httptest.NewRecorder(), r))
		sent, err := io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		require.EqualValues(t, size, sent)
		w.end()
	}
	runtime.ReadMemStats(took)
	assert.Less(t, took.TotalAlloc-before, uint64(bodies*size/2))
}
