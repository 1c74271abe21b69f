package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ten programs that listen to an event stream had all ten slots of the first window, for an hour: their bytes were
// successes of the limiter, so no other request of the key was answered, or told. After refusals for 30 s two streams
// were enough. Now the streams leave the window, and where --max-window holds them in it the others are told within
// --hold.
func TestEventStreamsDoNotHoldTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		streams int
		down    time.Duration
		// max is --max-window, which streams may not go above.
		max  float64
		want map[int]int
		most time.Duration
	}{
		"10 streams":                  {10, 0, 0, map[int]int{200: 100}, 12 * time.Second},
		"2 streams, refused for 30 s": {2, 30 * time.Second, 0, map[int]int{200: 100}, 40 * time.Second},
		"10 streams, the most":        {10, 0, 10, map[int]int{429: 100}, defaults.hold + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var start time.Time
			inBubble(t, func(conn net.Conn) {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
					switch since := time.Since(start); {
					case r.URL.Path == "/events":
						_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
						for range 360 { // an hour
							if err != nil {
								return
							}
							_, err = io.WriteString(conn, "9\r\ndata: 1\n\n\r\n")
							time.Sleep(10 * time.Second)
						}
						return
					case since > time.Second && since < time.Second+c.down:
						_, err = io.WriteString(conn, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
					default:
						_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
					if err != nil {
						return
					}
				}
			}, func(s *settings) { s.maxWindow = c.max }, func(t *testing.T, b bubble) {
				start = time.Now()
				var programs []net.Conn
				for range c.streams {
					conn, err := b.programs.dial()
					require.NoError(t, err)
					programs = append(programs, conn)
					go io.Copy(io.Discard, conn)
					go io.WriteString(conn, get("/events"))
				}
				time.Sleep(2 * time.Second)
				by, took := b.together(t, 100)
				assert.Equal(t, c.want, by)
				assert.LessOrEqual(t, took, c.most)
				for _, conn := range programs {
					conn.Close()
				}
				time.Sleep(time.Minute) // the service sees it
				synctest.Wait()
				b.settled(t, name)
			})
		})
	}
}
