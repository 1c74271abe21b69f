package proxy

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Programs and a service that do anything at any time: in the end nothing is held, and each program that stayed has an
// answer or a connection that is cut.
func TestDisorder(t *testing.T) {
	for seed := range uint64(10) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 1))
		draw := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(n)
		}
		pause := func(most time.Duration) { time.Sleep(time.Duration(draw(1000)) * most / 1000) }
		inBubble(t, func(c net.Conn) {
			defer c.Close()
			in := bufio.NewReader(c)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if draw(10) == 0 {
					pause(10 * time.Minute)
					return
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return
				}
				pause(time.Duration(1+draw(3)*draw(100)) * time.Second)
				status := []int{200, 200, 200, 200, 429, 429, 503, 500, 404, 403, 101, 204, 400}[draw(13)]
				text := strings.Repeat("x", draw(3)*draw(100_000))
				head := fmt.Sprintf("HTTP/1.1 %d x\r\n", status)
				if draw(4) == 0 {
					head += fmt.Sprintf("Retry-After: %d\r\n", draw(30))
				}
				if draw(5) == 0 {
					head += fmt.Sprintf("X-Ratelimit-Limit: 9\r\nX-Ratelimit-Remaining: %d\r\nX-Ratelimit-Reset: %d\r\n", draw(2), draw(60))
				}
				switch {
				case status == 101:
					head += "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
				case status == 204:
					text = ""
					head += "\r\n"
				case draw(2) == 0:
					head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(text)+draw(2)*draw(2)*draw(2))
				default:
					head += "Connection: close\r\n\r\n"
				}
				if _, err := io.WriteString(c, head); err != nil {
					return
				}
				for len(text) > 0 {
					part := text[:min(len(text), 1+draw(50_000))]
					text = text[len(part):]
					if _, err := io.WriteString(c, part); err != nil {
						return
					}
					if draw(5) == 0 {
						pause(time.Minute)
					}
				}
				if draw(3) == 0 || strings.Contains(head, "close") {
					return
				}
			}
		}, func(s *settings) { s.keys, s.queue, s.buffer, s.memory = 3, 100, 64<<10, 1<<20 }, func(t *testing.T, b bubble) {
			var all sync.WaitGroup
			for i := range 200 {
				all.Go(func() {
					pause(10 * time.Minute)
					c, err := b.programs.dial()
					if !assert.NoError(t, err) {
						return
					}
					defer c.Close()
					body := strings.Repeat("y", draw(3)*draw(60_000))
					r := fmt.Sprintf("%s /%d HTTP/1.1\r\nHost: a\r\nX-Api-Key: %d\r\n", []string{"GET", "PUT", "POST"}[draw(3)], i, draw(5))
					switch draw(4) {
					case 0:
						r += "Transfer-Encoding: chunked\r\n\r\n"
						if len(body) > 0 {
							r += fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
						}
						r += "0\r\n\r\n"
					case 1:
						r += fmt.Sprintf("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					default:
						r += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
					}
					if draw(6) == 0 {
						r = r[:draw(len(r))]
					}
					go func() {
						for len(r) > 0 {
							part := r[:min(len(r), 1+draw(60_000))]
							r = r[len(part):]
							if _, err := io.WriteString(c, part); err != nil {
								return
							}
							if draw(8) == 0 {
								pause(time.Minute)
							}
						}
					}()
					switch draw(5) {
					case 0:
						pause(10 * time.Minute) // and leaves
					case 1:
						pause(10 * time.Minute) // and reads late
						_, _ = io.Copy(io.Discard, c)
					default:
						_ = c.SetReadDeadline(time.Now().Add(2 * time.Hour))
						resp, err := http.ReadResponse(bufio.NewReader(c), nil)
						if ne, ok := err.(net.Error); ok && ne.Timeout() {
							t.Error("no answer in two hours")
						}
						if err == nil {
							_, _ = io.Copy(io.Discard, resp.Body)
						}
					}
				})
			}
			all.Wait()
			time.Sleep(2*b.idle + time.Minute)
			b.settled(t, fmt.Sprint("seed ", seed))
			b.pulses.Range(func(_, p any) bool {
				first, _ := p.(*pulse).flights.Ends()
				assert.Nil(t, first, "in flight")
				return true
			})
			time.Sleep(time.Hour)
		})
	}
}
