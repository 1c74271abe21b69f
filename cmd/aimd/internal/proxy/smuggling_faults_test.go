package proxy

import (
	"bufio"
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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
				c, err := b.programs.dial()
				if !assert.NoError(t, err) {
					return
				}
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
