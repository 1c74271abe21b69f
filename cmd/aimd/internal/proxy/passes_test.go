package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// raw is a message of HTTP/1.1 as it came, but for its framing and the headers of its connection.
type raw struct {
	line string
	// header and trailer have "Name: value", sorted.
	header, trailer []string
	body            string
}

// readRaw reads a message. It knows nothing of net/http.
func readRaw(in *bufio.Reader) (m raw, err error) {
	if m.line, err = in.ReadString('\n'); err != nil {
		return m, err
	}
	m.line = strings.TrimSuffix(m.line, "\r\n")
	length, chunked := 0, false
	lines := func() (all []string) {
		for {
			line, err := in.ReadString('\n')
			if line = strings.TrimSuffix(line, "\r\n"); err != nil || line == "" {
				slices.Sort(all)
				return all
			}
			name, value, _ := strings.Cut(line, ":")
			name, value = textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(value)
			switch name {
			case "Content-Length":
				length, _ = strconv.Atoi(value)
			case "Transfer-Encoding":
				chunked = true
			case "Connection", "Host", "Trailer", "Http2-Settings", "X-Hop":
			default:
				all = append(all, name+": "+value)
			}
		}
	}
	m.header = lines()
	body := io.LimitReader(in, int64(length))
	if chunked {
		body = httputil.NewChunkedReader(in)
	}
	text, err := io.ReadAll(body)
	m.body = string(text)
	if chunked {
		m.trailer = lines()
	}
	return m, err
}

// Whatever a program sends reaches the service as it is: the request line with its path and query byte for byte, the
// headers, the body, the trailers.
func TestWhatAProgramSendsArrivesAsItIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	arrived := make(chan raw, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					m, err := readRaw(in)
					if err != nil {
						return
					}
					arrived <- m
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()
	long := strings.Repeat("0123456789abcdef", 200) // --buffer is 1 KiB here
	chunks := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(text), text) }
	paths := []string{
		"/", "/a", "/a/", "//a//b/", "/?", "/a?", "/a?b", "/items?ids=1;2;3", "/items?discount=100%&x=1", "/items?a=%zz&confirm=no",
		"/a?a=b%3Bc&a=+%20&a", "/a?q=\"<{|}>\\^`'", "/a?a=?b?c#d", "/a%2Fb%2fc", "/a%2fb|c", "/a\"b<c>{d}^`\\e", "/ü/é?ö=ß", "/%C3%BC", "/a#b",
		"/a;v=1/b,c", "/a:b@c!$&'()*+=", "/~a/%7Ea/%41", "/a/./b/../c", "/[a]/%5Bb%5D", "/%00%0A%0d", "/a%20b+c", "//evil.example.com/x|y", "/http://b/c",
	}
	var requests []string
	for _, path := range paths {
		requests = append(requests, "DELETE "+path+" HTTP/1.1\r\n\r\n")
	}
	same := len(paths) + 22
	requests = append(requests,
		"GET / HTTP/1.1\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: https\r\nForwarded: for=1.2.3.4\r\n\r\n",
		"GET / HTTP/1.1\r\nX-A: 1\r\nX-A: 2\r\nX-Empty:\r\nX-Odd: \"\\é\x80; a=b, c\r\n\r\n",
		"GET / HTTP/1.1\r\nUser-Agent: own/1.0\r\nAccept-Encoding: br;q=1.0, gzip\r\nTE: trailers\r\n\r\n",
		"GET / HTTP/1.1\r\nCookie: a=b; c=d\r\nCookie: e=f\r\nRange: bytes=0-4\r\nIf-None-Match: \"x\"\r\nVia: 1.0 a\r\n\r\n",
		"GET / HTTP/1.1\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nx-lower: 2\r\n\r\n",
		"GET / HTTP/1.1\r\nX-Long: "+long+"\r\n\r\n",
		"LOCK /a HTTP/1.1\r\n\r\n", "get /a HTTP/1.1\r\n\r\n", "OPTIONS /a HTTP/1.1\r\nOrigin: https://a\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\n\x00\xff\r\n!",
		"DELETE / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
		"POST / HTTP/1.1\r\nContent-Length: 3200\r\n\r\n"+long,
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks("hello")+"\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks(long)+"\r\n",
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+chunks("hello")+"X-Sum: 1\r\n\r\n",
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks("hello")+"X-Sum: 1\r\nX-Sum: 2\r\n\r\n",
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+chunks(long)+"X-Sum: 1\r\n\r\n",
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks(long)+"X-Sum: 1\r\n\r\n",
		"POST / HTTP/1.1\r\nX-A: 1\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: 2\r\n\r\nhi",
		"GET / HTTP/1.1\r\nX-Amz-Date: 20261125T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=A/b, Signature=c\r\n\r\n",
		// These are refused, and never sent.
		"GET /a/../../admin HTTP/1.1\r\n\r\n", "GET /..%2f..%2fadmin HTTP/1.1\r\n\r\n", `GET /a/..\..\admin`+" HTTP/1.1\r\n\r\n", "GET /..;/admin HTTP/1.1\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n", "GET http://a/b HTTP/1.1\r\n\r\n", "CONNECT a:443 HTTP/1.1\r\n\r\n", "GET /100% HTTP/1.1\r\n\r\n",
	)
	require.GreaterOrEqual(t, len(requests), 40)
	for _, base := range []string{"", "/v1/b%2Fc"} {
		url, _, _ := behind(t, nil, func(s *settings) { s.to = "http://" + l.Addr().String() + base })
		for i, request := range requests {
			line, rest, _ := strings.Cut(request, "\r\n")
			c := said(t, url, line+"\r\nHost: localhost\r\n"+rest)
			answer, err := bufio.NewReader(c).ReadString('\n')
			require.NoError(t, err, request)
			require.NoError(t, c.Close())
			if dots := strings.Contains(line, ".."); i >= same && !(dots && base == "") {
				assert.Contains(t, answer, " 400 ", request)
				assert.Empty(t, arrived, request)
				continue
			}
			require.Contains(t, answer, " 200 ", request)
			want, err := readRaw(bufio.NewReader(strings.NewReader(request)))
			require.NoError(t, err)
			want.header = slices.DeleteFunc(want.header, func(h string) bool { return h == "Upgrade: h2c" })
			method, target, _ := strings.Cut(want.line, " ")
			if path := base + target; base == "" && strings.HasPrefix(path, "//evil") { // a service must take this form, too
				path = "http://" + l.Addr().String() + path
				want.line = method + " " + path
			} else {
				want.line = method + " " + path
			}
			assert.Equal(t, want, <-arrived, "to %q: %s", base, request)
		}
	}
}

// And what the service answers reaches the program.
func TestWhatTheServiceAnswersArrivesAsItIs(t *testing.T) {
	answers := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 299 Odd\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nX-Empty: \r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 404 Not Found\r\nDate: Wed, 25 Nov 2026 00:00:00 GMT\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nno",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nETag: \"x\"\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
	}
	for _, sent := range answers {
		inBubble(t, func(c net.Conn) {
			defer c.Close()
			if _, err := readRaw(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, sent)
			}
		}, nil, func(t *testing.T, b bubble) {
			c := b.dial()
			defer c.Close()
			go io.WriteString(c, get("/"))
			got, err := readRaw(bufio.NewReader(c))
			require.NoError(t, err)
			want, err := readRaw(bufio.NewReader(strings.NewReader(sent)))
			require.NoError(t, err)
			if got.line = strings.TrimSuffix(got.line, " status code 299"); strings.Contains(want.line, "299") {
				want.line = "HTTP/1.1 299"
			}
			assert.Equal(t, want, got, sent)
		})
	}
}

// In shadow programs have from the service what they would have without the proxy: each request once and at once,
// refusals as they are, bodies as they come. The page and the metrics say what would have been held.
func TestShadowHoldsNothing(t *testing.T) {
	var busy, came atomic.Int64
	serve := handled(func(w http.ResponseWriter, r *http.Request) {
		came.Inc()
		defer busy.Dec()
		if busy.Inc() > 8 {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		time.Sleep(time.Second)
		_, _ = w.Write(body)
	})
	inBubble(t, func(c net.Conn) { serve(c) }, func(s *settings) { s.shadow, s.one, s.queue, s.maxRate = true, true, 1, .001 }, func(t *testing.T, b bubble) {
		began := time.Now()
		var all sync.WaitGroup
		var ok, refused atomic.Int64
		for range 40 {
			all.Go(func() {
				status, header, text := b.ask(t, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
				switch status {
				case 200:
					ok.Inc()
					assert.Equal(t, "hello", text)
				case 503:
					refused.Inc()
					assert.Equal(t, "60", header.Get("Retry-After"))
				}
			})
		}
		all.Wait()
		synctest.Wait()
		assert.Equal(t, time.Second, time.Since(began), "nobody waits")
		assert.Equal(t, []int64{40, 8, 32}, []int64{came.Load(), ok.Load(), refused.Load()})
		b.settled(t, "shadow")
		text := b.admins("/metrics", "localhost").Body.String()
		for _, metric := range []string{`aimd_shadow_attempts_total{limiter="all"} 40`, `aimd_shadow_held_total{limiter="all"} 3`, `aimd_shadow_refused_total{limiter="all"} 32`} {
			assert.Contains(t, text, metric)
		}
	})
}

// The log says at the start that nothing is held.
func TestShadowIsSaid(t *testing.T) {
	s, logs := defaults, &written{}
	s.to, s.shadow = "http://127.0.0.1:1", true
	p, err := s.start(t.Context(), logs)
	require.NoError(t, err)
	p.fresh.Load().CloseIdleConnections()
	assert.Contains(t, logs.String(), "shadow: each request is sent once and at once")
}
