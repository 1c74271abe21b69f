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
	"github.com/stretchr/testify/require"
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
					c := b.dial()
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

// Whoever stops, wherever it is: within --idle nothing is in flight, nothing waits and no memory is held. Both sides stay
// connected to the end, unless the case says otherwise.
func TestWhoStopsHoldsNothing(t *testing.T) {
	type service = func(c net.Conn, in *bufio.Reader)
	silent := func(net.Conn, *bufio.Reader) {}
	reads := func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) }
	says := func(text string) service { return func(c net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(c, text) } }
	forever := func(c net.Conn, _ *bufio.Reader) {
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}
	then := func(all ...service) service {
		return func(c net.Conn, in *bufio.Reader) {
			for _, s := range all {
				s(c, in)
			}
		}
	}
	every := func(d time.Duration, text string) service {
		return func(c net.Conn, _ *bufio.Reader) {
			for range 100 {
				if _, err := io.WriteString(c, text); err != nil {
					return
				}
				time.Sleep(d)
			}
		}
	}
	head := func(extra string) string { return "POST / HTTP/1.1\r\nHost: localhost\r\n" + extra + "\r\n" }
	long, upgrade := strings.Repeat("x", 40<<10), "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	switching := says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	const length, chunk = "Content-Length: 40960\r\n", "Transfer-Encoding: chunked\r\n"
	// deaf is a program that reads nothing but the head, late a service that goes on later.
	deaf := func(_ net.Conn, in *bufio.Reader) { _, _ = in.ReadString('\n') }
	late := func(net.Conn, *bufio.Reader) { time.Sleep(time.Second) }
	for name, c := range map[string]struct {
		// sends is what the program sends at once; then comes the rest of it.
		sends   string
		program func(c net.Conn, in *bufio.Reader)
		// serves is the service, once it has the head of a request.
		serves service
		// status is what the program reads; "": it reads nothing, or the connection is cut.
		status string
	}{
		"program: in the request line":       {"GET /a", nil, reads, ""},
		"program: in a header":               {"GET / HTTP/1.1\r\nHost: loc", nil, reads, ""},
		"program: in a kept body":            {head("Content-Length: 10\r\n") + "hello", nil, reads, "400"},
		"program: in a kept body of chunks":  {head(chunk) + "5\r\nhel", nil, reads, "400"},
		"program: before a kept body":        {head("Content-Length: 10\r\n"), nil, reads, "400"},
		"program: in a long body":            {head(length) + "x", nil, reads, ""},
		"program: in a long body of chunks":  {head(chunk) + "a000\r\n" + long + "\r\n5\r\nhel", nil, reads, ""},
		"program: in the body of an upgrade": {head(upgrade+"Content-Length: 10\r\n") + "x", nil, reads, ""},
		"program: after Expect":              {head(length + "Expect: 100-continue\r\n"), nil, then(says("HTTP/1.1 100 Continue\r\n\r\n"), reads), "100"},
		"program: leaves in flight":          {get("/"), func(c net.Conn, _ *bufio.Reader) { c.Close() }, silent, ""},
		"program: reads no answer":           {get("/"), deaf, then(says("HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n"), late, forever), ""},
		"program: reads no events":           {get("/"), deaf, then(says("HTTP/1.1 200 OK\r\n\r\n"), late, forever), ""},
		"program: switched, is silent":       {head(upgrade), nil, switching, "101"},
		"program: switched, reads nothing":   {head(upgrade), deaf, then(switching, late, forever), ""},
		"program: switched, leaves": {head(upgrade), func(c net.Conn, in *bufio.Reader) { _, _ = in.ReadString('\n'); c.Close() },
			then(switching, reads), ""},
		"service: accepts and reads nothing":    {head(length) + long, nil, silent, "504"},
		"service: reads no kept body":           {head("Content-Length: 10240\r\n") + long[:10240], nil, silent, "504"},
		"service: never answers":                {get("/"), nil, reads, "504"},
		"service: in the head":                  {get("/"), nil, says("HTTP/1.1 200 OK\r\nX-A: "), "504"},
		"service: drips a head":                 {get("/"), nil, then(says("HTTP/1.1 200 OK\r\n"), every(time.Minute, "X-A: 1\r\n")), "504"},
		"service: hints for ever":               {get("/"), nil, every(time.Minute, "HTTP/1.1 103 Early Hints\r\n\r\n"), "103"},
		"service: after the head":               {get("/"), nil, says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), "200"},
		"service: in a chunk":                   {get("/"), nil, says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"), "200"},
		"service: leaves in the body":           {get("/"), nil, then(says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel"), func(c net.Conn, _ *bufio.Reader) { c.Close() }), "200"},
		"service: leaves at once":               {get("/"), nil, func(c net.Conn, _ *bufio.Reader) { c.Close() }, "502"},
		"service: in the body of a refusal":     {get("/"), nil, says("HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"), "429"},
		"service: in the body of a 402":         {get("/"), nil, says("HTTP/1.1 402 Payment Required\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"), "402"},
		"service: answers early, takes no body": {head(length) + long, nil, says("HTTP/1.1 200 OK\r\n\r\nhi"), "200"},
		"service: switches unasked":             {get("/"), nil, switching, "502"},
		"service: switches to something else":   {head("Connection: Upgrade\r\nUpgrade: websocket, x\r\n"), nil, switching, "502"},
		"service: switched, takes nothing":      {head(upgrade), forever, switching, ""},
		"service: garbage":                      {get("/"), nil, says("220 mail ready\r\n"), "502"},
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan struct{})
			inBubble(t, func(conn net.Conn) {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					if line, err := in.ReadString('\n'); err != nil {
						return
					} else if line == "\r\n" {
						break
					}
				}
				c.serves(conn, in)
				<-closed
			}, func(s *settings) { s.buffer, s.hold = 16<<10, time.Second }, func(t *testing.T, b bubble) {
				closed = make(chan struct{})
				conn := b.dial()
				defer conn.Close()
				defer close(closed)
				status := make(chan string, 1)
				go func() {
					_, _ = io.WriteString(conn, c.sends)
					if c.program != nil {
						c.program(conn, bufio.NewReader(conn))
					}
				}()
				if c.program == nil {
					go func() {
						in := bufio.NewReader(conn)
						line, _ := in.ReadString('\n')
						status <- strings.TrimPrefix(line, "HTTP/1.1 ")
						_, _ = io.Copy(io.Discard, in)
					}()
				}
				time.Sleep(2*b.idle + 2*time.Second) // a long body: its program and then its service may be silent
				b.settled(t, name)
				if c.status != "" && assert.NotEmpty(t, status, name) {
					assert.Equal(t, c.status, (<-status + "   ")[:3], name)
				}
			})
		})
	}
}

// Readers of events that read nothing for an hour: each is cut off after --idle, and others lose nothing meanwhile.
func TestReadersThatNeverRead(t *testing.T) {
	inBubble(t, func(c net.Conn) {
		defer c.Close()
		for in := bufio.NewReader(c); ; {
			line, err := in.ReadString('\n')
			for l := line; err == nil && l != "\r\n"; {
				l, err = in.ReadString('\n')
			}
			switch {
			case err != nil:
				return
			case strings.HasPrefix(line, "GET /fine"):
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				continue
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
			for err == nil {
				time.Sleep(time.Second)
				_, err = io.WriteString(c, "data: "+strings.Repeat("x", 1000)+"\n\n")
			}
			return
		}
	}, nil, func(t *testing.T, b bubble) {
		for range 12 { // an hour, and 5 readers at a time
			for range 5 {
				c := b.dial()
				defer c.Close()
				_, err := io.WriteString(c, get("/events"))
				require.NoError(t, err)
				_, err = bufio.NewReader(c).ReadString('\n')
				require.NoError(t, err)
			}
			for range 10 {
				time.Sleep(30 * time.Second)
				status, _, _ := b.ask(t, get("/fine"))
				assert.Equal(t, 200, status)
			}
		}
		time.Sleep(b.idle + 10*time.Second)
		b.settled(t, "readers")
	})
}
