package proxy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// A rolling update: whoever spreads requests learns at once that this proxy goes, and has --drain-delay to act on it.
// Meanwhile each request is answered, also that over a connection that was idle. What waits after --drain is told.
func TestWhatIsReplacedLosesNothing(t *testing.T) {
	inBubble(t, handled(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(20 * time.Second)
		}
		if r.URL.Path == "/slower" {
			time.Sleep(2 * time.Minute)
		}
	}), func(s *settings) { s.maxWindow, s.hold, s.idle = 2, 10*time.Minute, 10*time.Minute }, func(t *testing.T, b bubble) {
		health := func() int { return b.admins("/healthz", "").Code }
		c := b.dial()
		defer c.Close()
		in := bufio.NewReader(c)
		again := func() *http.Response {
			go io.WriteString(c, "POST /kept HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			return resp
		}
		resp := again()
		assert.Equal(t, 200, resp.StatusCode)
		assert.False(t, resp.Close)
		assert.Equal(t, 200, health())
		slow, slower := b.asks(t, get("/slow")), b.asks(t, get("/slower"))
		synctest.Wait()
		began, stopped := time.Now(), make(chan error, 1)
		go func() { stopped <- b.drained(t.Context(), b.server) }()
		synctest.Wait()
		assert.Equal(t, 503, health(), "at once")

		// Two are in flight, so those that come now wait.
		assert.Equal(t, 200, <-b.asks(t, get("/waits", "X-Api-Key: other")), "another key")
		time.Sleep(4 * time.Second)
		idle := make(chan int, 1)
		go func() { idle <- again().StatusCode }()
		assert.Equal(t, 200, <-slow, "that of 20 s")
		assert.Equal(t, 20*time.Second, time.Since(began).Round(time.Second))
		assert.Equal(t, 200, <-idle, "that of the idle connection")
		_, err := in.ReadByte()
		assert.ErrorIs(t, err, io.EOF, "its answer was the last")
		_, err = b.programs.DialContext(t.Context(), "", "")
		assert.Error(t, err, "the port is closed after --drain-delay")

		assert.ErrorContains(t, <-stopped, "--drain 30s: is over")
		assert.Equal(t, 502, <-slower, "in flight after --drain")
		assert.Equal(t, 35*time.Second, time.Since(began).Round(time.Second))
		time.Sleep(2 * time.Minute) // the service goes on
		b.settled(t, "all")
	})
}

// What waits when --drain is over was never sent: it gets a 429, so that its program sends it elsewhere.
func TestWhatWaitsAfterTheDrainIsTold(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Minute) }), func(s *settings) {
		s.maxWindow, s.hold, s.idle = 1, 10*time.Minute, 10*time.Minute
	}, func(t *testing.T, b bubble) {
		go b.ask(t, get("/flies"))
		synctest.Wait()
		told := make(chan http.Header, 1)
		go func() {
			status, header, _ := b.ask(t, get("/waits"))
			assert.Equal(t, 429, status)
			told <- header
		}()
		synctest.Wait()
		assert.Error(t, b.drained(t.Context(), b.server))
		header := <-told
		assert.NotEmpty(t, header.Get("Retry-After"))
		assert.Contains(t, header.Get("Aimd-Reason"), "--drain")
		time.Sleep(2 * time.Minute)
		b.settled(t, "all")
	})
}

// overflowing is a service of HTTP/2 by hand. On its first connection it answers each request with a WINDOW_UPDATE that
// overflows the window of the stream, and on the others with an empty 200.
func overflowing(l net.Listener) {
	for first := true; ; first = false {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close() // the other end has lost it
		go func(bad bool) {
			write := func(kind, flags byte, id uint32, payload ...byte) {
				_, _ = c.Write(append(binary.BigEndian.AppendUint32([]byte{0, 0, byte(len(payload)), kind, flags}, id), payload...))
			}
			_, _ = io.ReadFull(c, make([]byte, 24))
			write(4, 0, 0)
			for head := make([]byte, 9); ; {
				if _, err := io.ReadFull(c, head); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, c, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
					return
				}
				switch id := binary.BigEndian.Uint32(head[5:]); {
				case head[3] == 4 && head[4]&1 == 0:
					write(4, 1, 0)
				case head[3] == 1 && bad:
					write(8, 0, id, 0x7f, 0xff, 0xff, 0xff)
				case head[3] == 1:
					write(1, 5, id, 0x88)
				}
			}
		}(first)
	}
}

// One frame of the service locked net/http's client of HTTP/2 out of its own lock: no request of any key came back, and each
// held its slot. Real time: a goroutine that waits for a lock holds a bubble up.
func TestOneFrameOfTheServiceDoesNotStopTheProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go overflowing(l)
	url, p, logs := behind(t, http.NotFoundHandler(), func(s *settings) {
		s.to, s.hold, s.idle = "http://"+l.Addr().String(), time.Minute, 100*time.Millisecond
	})
	p.maybe2 = true
	p.base.Protocols = new(http.Protocols)
	p.base.Protocols.SetUnencryptedHTTP2(true)
	for _, key := range []string{"a", "a", "b", "c"} {
		resp, _ := answer(t, http.MethodGet, url, "", "X-Api-Key", key)
		assert.Equal(t, 200, resp.StatusCode)
	}
	until(func() bool { flying, _ := state(p); return flying == 0 })
	assert.Equal(t, 1, strings.Count(logs.String(), "does not come back"), logs.String())
	assert.NotSame(t, p.base, p.fresh.Load())
	var ended aimd.Snapshot
	for _, l := range p.limited.All() {
		s := l.Snapshot()
		ended.Successes, ended.Neutrals, ended.Timeouts = ended.Successes+s.Successes, ended.Neutrals+s.Neutrals, ended.Timeouts+s.Timeouts
	}
	assert.Equal(t, aimd.Snapshot{Successes: 4, Neutrals: 1}, ended, "an end that is unclear is neutral, and no timeout")
}

// careless reads requests as a careless server does: any line end, any case, blanks in names. If a request has both a
// length and chunks, it goes by the one or the other.
type careless struct {
	*bufio.Reader
	byLength bool
}

func (c careless) line() (string, error) {
	s, err := c.ReadString('\n')
	return strings.TrimRight(s, "\r\n"), err
}

// request returns the first line of the next request, and its headers.
func (c careless) request() (first string, headers []string, err error) {
	for first == "" && err == nil {
		first, err = c.line()
	}
	length, chunks := 0, false
	for err == nil {
		var h string
		if h, err = c.line(); h == "" {
			break
		}
		headers = append(headers, h)
		name, value, _ := strings.Cut(h, ":")
		switch strings.ToLower(strings.Trim(name, " \t\x00\x0b\x0c")) {
		case "content-length":
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		case "transfer-encoding":
			chunks = chunks || strings.Contains(strings.ToLower(value), "chunked")
		}
	}
	if err == nil && chunks && (!c.byLength || length == 0) {
		var trailer []string
		trailer, err = c.chunks()
		return first, append(headers, trailer...), err
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, c, int64(length))
	}
	return first, headers, err
}

// chunks reads a body in chunks, and returns its trailer.
func (c careless) chunks() (trailer []string, err error) {
	for err == nil {
		var s string
		s, err = c.line()
		s, _, _ = strings.Cut(s, ";")
		n, e := strconv.ParseInt(strings.TrimSpace(s), 16, 64)
		switch {
		case err != nil || e != nil:
			return nil, fmt.Errorf("chunk %q: %w", s, io.ErrUnexpectedEOF)
		case n > 0:
			if _, err = io.CopyN(io.Discard, c, n); err == nil {
				_, err = c.line()
			}
			continue
		}
		for err == nil {
			if s, err = c.line(); s == "" {
				return trailer, err
			}
			trailer = append(trailer, s)
		}
	}
	return trailer, err
}

// smuggled is a request of which a proxy and a service may think differently, and perhaps another behind it.
func smuggled(r *rand.Rand, i int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	evil := fmt.Sprintf("GET /EVIL%d HTTP/1.1\r\nHost: localhost\r\n\r\n", i)
	body := pick("", "x", evil, strings.Repeat("y", 100)+evil, "0\r\n\r\n"+evil, "5\r\nhello\r\n0\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(evil), evil),
		"0\r\nX-T: "+strings.ReplaceAll(evil, "\r\n", "\n")+"\r\n\r\n", "0\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\nHost: evil\r\n\r\n",
		"80\r\n"+strings.Repeat("z", 128)+"\r\n0\r\nContent-Length: 9\r\nHost: e\r\nX: "+evil+"\r\n\r\n")
	path := fmt.Sprintf("/p%d", i) + pick("", "?a;b", "?a=%zz&%", "/..;/x", "//x", "/%0d%0aX", "/%00", "/a%2fb", "#frag", "/\\x", "?"+strings.Repeat("q", 3000), "/\x7f", "/é", "/a\tb")
	end := pick("\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r")
	lines := []string{
		pick("GET", "POST", "PUT", "POST", "PRI", "G\x01T", "DELETE", "get") + " " + path + " HTTP/1." + pick("1", "1", "1", "0"), "Host: localhost",
	}
	for range r.IntN(5) {
		lines = append(lines, pick(
			fmt.Sprintf("Content-Length: %d", len(body)), fmt.Sprintf("Content-Length: %d", r.IntN(60)), "Content-Length: 0", "content-length : 5",
			"Content-Length: +5", "Content-Length: 5, 5", "Content-Length: 0x5", "Content-Length: -1", "Content_Length: 5",
			"Transfer-Encoding: chunked", "Transfer-Encoding: chunked", "Transfer-Encoding: Chunked", "Transfer-Encoding: identity",
			"Transfer-Encoding: chunked, identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding: \x0bchunked",
			"Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n\tx", "X: y\rTransfer-Encoding: chunked",
			"X: y\nTransfer-Encoding: chunked", "Transfer_Encoding: chunked", "\x00: chunked",
			"Trailer: X-T", "Trailer: Content-Length", "TE: trailers", "Expect: 100-continue", "Expect: 200-ok",
			"Connection: close", "Connection: Content-Length", "Connection: Transfer-Encoding, Host, X", "Connection: keep-alive, Upgrade", "Upgrade: h2c",
			"Upgrade: websocket", "HTTP2-Settings: AAMAAABkAAQAAP__", "Proxy-Connection: keep-alive", "Keep-Alive: timeout=5",
			"X-Forwarded-For: a\x0ab", "X: "+strings.Repeat("v", 2000), "Cookie: a=b; c", "X-É: é", "Aimd-Reason: x", "Host: evil.com"))
	}
	text := strings.Join(append(lines, "", body), end)
	if r.IntN(3) == 0 {
		text += fmt.Sprintf("GET /second%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", i)
	}
	return text
}

// A careless service sees no request that the proxy has not seen, and no header that is part of another.
func TestNoRequestIsSmuggled(t *testing.T) {
	var mu sync.Mutex
	var odd []string
	front, back := map[string]int{}, map[string]int{}
	serve := func(conn net.Conn) {
		defer conn.Close()
		for c := (careless{bufio.NewReader(conn), rand.IntN(2) == 0}); ; {
			first, headers, err := c.request()
			mu.Lock()
			if first != "" {
				back[first]++
			}
			odd = append(odd, slices.DeleteFunc(headers, func(h string) bool { return !strings.ContainsAny(h, "\r\x00") && strings.TrimLeft(h, " \t") == h })...)
			mu.Unlock()
			if err != nil {
				return
			}
			if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	}
	change := func(s *settings) { s.idle, s.hold, s.buffer = time.Second, time.Second, 64 }
	inBubble(t, serve, change, func(t *testing.T, b bubble) {
		b.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			front[r.Method+" "+strings.TrimPrefix(r.RequestURI, b.to)]++
			mu.Unlock()
			b.ServeHTTP(w, r)
		})
		random := rand.New(rand.NewPCG(1, 1))
		var all sync.WaitGroup
		for i := range 400 {
			text := smuggled(random, i)
			all.Go(func() {
				c := b.dial()
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(400 * time.Millisecond))
				go io.WriteString(c, text)
				_, _ = io.Copy(io.Discard, c)
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		b.settled(t, "after all")
	})
	require.Greater(t, len(back), 100)
	assert.Empty(t, odd)
	for first, n := range back {
		seen := front[strings.TrimSuffix(strings.TrimSuffix(first, " HTTP/1.1"), " HTTP/1.0")]
		assert.True(t, 0 < n && n <= 3*seen, "%d times at the service, %d at the proxy: %q", n, seen, first)
	}
}
