package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	// What TestOneFrameOfTheServiceDoesNotStopTheProxy locks up is there for ever.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*http2clientStream).abortStream"),
		goleak.IgnoreAnyFunction("net/http.(*http2clientStream).cleanupWriteRequest"),
		goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).healthCheck"))
}

// behind is a proxy before the service, and what it logs.
func behind(t *testing.T, service http.Handler, change func(*settings)) (url string, p *proxy, logs *written) {
	t.Helper()
	target := httptest.NewServer(service)
	t.Cleanup(target.Close)
	s := settings{to: target.URL + "/base", keys: 10, queue: 1000, hold: time.Minute, idle: time.Minute, buffer: 1 << 10, memory: 1 << 30}
	if change != nil {
		change(&s)
	}
	logs = &written{}
	p, err := newProxy(s, slog.New(slog.NewTextHandler(logs, nil)))
	require.NoError(t, err)
	t.Cleanup(func() { p.fresh.Load().CloseIdleConnections() })
	server := httptest.NewUnstartedServer(nil)
	server.Config = p.server(p)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, p, logs
}

// written is a log that a test reads while the proxy writes.
type written struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// answer is the answer to a request with its body read.
func answer(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Host = req.Header.Get("Host")
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// said sends that text on a connection of its own.
func said(t *testing.T, url, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

// Four slots, and 64 programs at a time that send a body: each request is done, and once.
func TestNothingIsLostOrDoneTwice(t *testing.T) {
	var active, refused atomic.Int64
	var mu sync.Mutex
	done := map[string]int{}
	url, _, _ := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer active.Dec()
		if active.Inc() > 4 {
			refused.Inc()
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		done[r.URL.Path+"?"+r.URL.RawQuery+" "+string(text)]++
		mu.Unlock()
		io.WriteString(w, "served")
	}), nil)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			resp, text := answer(t, http.MethodPost, fmt.Sprintf("%s/jobs?a=1", url), fmt.Sprint(i))
			assert.Equal(t, http.StatusOK, resp.StatusCode, text)
			assert.Equal(t, "served", text)
		})
	}
	wg.Wait()
	assert.Len(t, done, 200)
	for job, times := range done {
		assert.Equal(t, 1, times, job)
		assert.Contains(t, job, "/base/jobs?a=1 ")
	}
}

func TestEachCredentialHasALimiter(t *testing.T) {
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Authorization")) })
	send := func(change func(*settings)) (int, *proxy, string) {
		url, p, logs := behind(t, service, change)
		for _, h := range [][]string{{"Authorization", "Bearer secret-1"}, {"Authorization", "Bearer secret-2"}, {"X-Api-Key", "secret-1", "X-Tenant", "a"}, nil} {
			resp, text := answer(t, http.MethodGet, url, "", h...)
			assert.Equal(t, http.StatusOK, resp.StatusCode)
			if h != nil && h[0] == "Authorization" {
				assert.Equal(t, h[1], text, "the service gets it")
			}
		}
		n, names := 0, ""
		for key, l := range p.limited.All() {
			n++
			names += key + l.Snapshot().Name
		}
		return n, p, names + logs.String()
	}
	n, _, said := send(nil)
	assert.Equal(t, 4, n)
	assert.NotContains(t, said, "secret")
	n, _, _ = send(func(s *settings) { s.by = "X-Tenant" })
	assert.Equal(t, 2, n)
	n, _, _ = send(func(s *settings) { s.one = true })
	assert.Equal(t, 1, n)
	url, p, _ := behind(t, service, func(s *settings) { s.one, s.classes = true, "read,write" })
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut} {
		_, _ = answer(t, method, url, "")
	}
	counts := map[string]uint64{}
	for _, l := range p.limited.All() {
		counts[l.Snapshot().Name] = l.Snapshot().Successes
	}
	assert.Equal(t, map[string]uint64{"all read": 2, "all write": 2}, counts)
}

func TestWhatIsTheSameInEachRequest(t *testing.T) {
	for value, want := range map[string]string{
		"Bearer a/b:c,d": "Bearer a/b:c,d", "basic YTpi/w==": "basic YTpi/w==", "Token a:b": "Token a:b", "sk-1/2:3": "sk-1/2:3", "": "",
		"AWS4-HMAC-SHA256 Credential=AKID/20261124/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=f": "AWS4-HMAC-SHA256Credential=AKID",
		"SharedKey account:c2lnbg==": "SharedKeyaccount", `Digest username="me", nonce="1"`: `Digestusername="me"`, "Other x": "Other x",
	} {
		assert.Equal(t, want, credential(value))
	}
}

// What a program gets is what the service said, if no further attempt is made.
func TestAnswersPassAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		name, method, body string
		status             int
		header             []string
	}{
		{"a final error", http.MethodGet, "", http.StatusNotFound, []string{"X-Reason", "none"}},
		{"compressed", http.MethodGet, "", http.StatusOK, []string{"Content-Encoding", "gzip"}},
		{"an error of a POST", http.MethodPost, "x", http.StatusInternalServerError, nil},
		{"a Retry-After beyond the hold", http.MethodGet, "", http.StatusTooManyRequests, []string{"Retry-After", "200"}},
		{"a refusal of a body that is not kept", http.MethodPost, strings.Repeat("x", 2000), http.StatusTooManyRequests, nil},
	} {
		var asked atomic.Int64
		url, _, _ := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Inc()
			text, _ := io.ReadAll(r.Body)
			assert.Len(t, text, len(c.body), c.name)
			for i := 0; i < len(c.header); i += 2 {
				w.Header().Set(c.header[i], c.header[i+1])
			}
			w.WriteHeader(c.status)
			io.WriteString(w, "as it is")
		}), nil)
		resp, text := answer(t, c.method, url, c.body)
		assert.Equal(t, c.status, resp.StatusCode, c.name)
		assert.Equal(t, "as it is", text, c.name)
		for i := 0; i < len(c.header); i += 2 {
			assert.Equal(t, c.header[i+1], resp.Header.Get(c.header[i]), c.name)
		}
		assert.Empty(t, resp.Header.Get("Aimd-Reason"), c.name)
		assert.EqualValues(t, 1, asked.Load(), c.name)
	}
}

// A service that is not there: the program has its answer when the hold is over, and it tells no secret.
func TestNobodyIsHeldForLong(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	url, _, _ := behind(t, http.NotFoundHandler(), func(s *settings) { s.to, s.hold = "http://"+l.Addr().String(), 20*time.Millisecond })
	resp, text := answer(t, http.MethodGet, url+"/?token=secret", "")
	assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
	assert.Contains(t, resp.Header.Get("Aimd-Reason"), l.Addr().String())
	assert.Contains(t, text, "refused")
	assert.NotContains(t, text, "secret")
}

// state is that of all limiters together.
func state(p *proxy) (inFlight, queued int) {
	for _, l := range p.limited.All() {
		s := l.Snapshot()
		inFlight, queued = inFlight+s.InFlight, queued+s.Queued
	}
	return inFlight, queued
}

// until waits for a state that comes without fail, at the latest when the test's time is over.
func until(holds func() bool) {
	for !holds() {
		runtime.Gosched()
	}
}

// More credentials than limiters: the idle limiters go. If all are in use, the program may come again.
func TestMoreKeysThanLimiters(t *testing.T) {
	free, taken := make(chan struct{}), make(chan struct{})
	url, p, _ := behind(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/base/slow" {
			taken <- struct{}{}
			<-free
		}
	}), nil)
	for i := range 1000 {
		resp, _ := answer(t, http.MethodGet, url, "", "X-Api-Key", fmt.Sprint(i))
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	assert.Len(t, maps.Collect(p.limited.All()), 10)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { answer(t, http.MethodGet, url+"/slow", "", "X-Api-Key", fmt.Sprint(i)) })
		<-taken
	}
	resp, text := answer(t, http.MethodGet, url, "", "X-Api-Key", "one more")
	assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	assert.Contains(t, text, "10 keys are all in use")
	assert.NotEmpty(t, resp.Header.Get("Retry-After"))
	close(free)
	all.Wait()

	sum := 0
	for _, n := range regexp.MustCompile(`(?m)^aimd_attempts_total{.*outcome="success"} (\d+)$`).FindAllStringSubmatch(p.admins("/metrics", "localhost:8021").Body.String(), -1) {
		i, err := strconv.Atoi(n[1])
		require.NoError(t, err)
		sum += i
	}
	assert.Equal(t, 1010, sum, "limiters that went are counted")
	assert.Equal(t, http.StatusBadRequest, p.admins("/metrics", "evil.example.com").Code)
}

// An event passes while the stream is open, and a program that goes away ends the request at the service.
func TestStreams(t *testing.T) {
	gone := make(chan struct{})
	url, _, _ := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}), nil)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	transport := &http.Transport{}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "data: 1\n", line)
	leave()
	<-gone
	_ = resp.Body.Close() // the context has ended
}

// Programs and services that stop in the middle: each request has an end, and nobody keeps a slot.
func TestWhoStopsInTheMiddle(t *testing.T) {
	var asked atomic.Int64
	url, p, logs := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Inc()
		switch r.URL.Path {
		case "/base/half":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/base/echo":
			io.Copy(w, r.Body)
		case "/base/upgrade":
			c, rw, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				defer c.Close()
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				line, _ := rw.ReadString('\n')
				io.WriteString(c, line)
			}
		}
	}), func(s *settings) { s.idle, s.hold = 250*time.Millisecond, time.Hour })

	// talk sends lines on a connection, each after what ends the answer so far, and returns the whole answer.
	talk := func(lines ...string) string {
		c := said(t, url, lines[0])
		in := bufio.NewReader(c)
		var all strings.Builder
		for _, line := range lines[1:] {
			for !strings.HasSuffix(all.String(), "\r\n\r\n") {
				b, err := in.ReadByte()
				require.NoError(t, err)
				all.WriteByte(b)
			}
			_, err := io.WriteString(c, line)
			require.NoError(t, err)
		}
		_, _ = io.Copy(&all, in)
		return all.String()
	}
	const head = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	got := talk("GET /half" + head + "\r\n")
	assert.Contains(t, got, "200 OK")
	assert.True(t, strings.HasSuffix(got, "half"), got)
	assert.EqualValues(t, 1, asked.Load(), "what has begun to pass is not sent again")
	got = talk("POST /echo"+head+"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n", "hello")
	assert.Contains(t, got, "100 Continue")
	assert.True(t, strings.HasSuffix(got, "hello"), got)
	got = talk("GET /upgrade HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", "hello\n")
	assert.Contains(t, got, "101 Switching Protocols")
	assert.True(t, strings.HasSuffix(got, "hello\n"), got)

	asked.Store(0)
	got = talk("POST /echo" + head + "Content-Length: 5\r\n\r\nhe")
	assert.Contains(t, got, "400 Bad Request")
	assert.Contains(t, got, "the body of the request: ")
	assert.Zero(t, asked.Load(), "a body that does not come takes no slot")
	until(func() bool { inFlight, _ := state(p); return inFlight == 0 })
	assert.NotContains(t, logs.String(), "panic")
}

func TestItIsNoOpenProxy(t *testing.T) {
	url, _, _ := behind(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/base/", r.URL.Path)
	}), func(s *settings) { s.host = "limiter.example.com" })
	for host, want := range map[string]int{
		"evil.example.com": 400, "evil.example.com:8020": 400, "localhost:8020": 200, "aimd": 200, "[::1]:8020": 200, "limiter.example.com:8020": 200,
	} {
		resp, _ := answer(t, http.MethodGet, url+"/", "", "Host", host)
		assert.Equal(t, want, resp.StatusCode, host)
	}
	for _, line := range []string{"CONNECT example.com:443 HTTP/1.1", "GET http://example.com/ HTTP/1.1"} {
		got, err := io.ReadAll(said(t, url, line+"\r\nHost: example.com\r\nConnection: close\r\n\r\n"))
		require.NoError(t, err)
		assert.Contains(t, string(got), "400 Bad Request")
		assert.Contains(t, string(got), "Aimd-Reason: this proxy is for one service")
	}
}

func TestBadCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"proxy":                                   "--to: is missing",
		"proxy --to ftp://x":                      "--to",
		"proxy --to http://x?a=1":                 "without a query",
		"proxy --to http://x --one --key X":       "want one of them",
		"proxy --to http://127.0.0.1:8020/v":      "--to http://127.0.0.1:8020/v and --listen 127.0.0.1:8020: want two addresses",
		"proxy --to http://x --key a:b":           "a name of a header",
		"proxy --to http://x --listen 8020":       "a host or none, and a port",
		"proxy --to http://x --hold 2h":           "--hold",
		"proxy --to http://x --keys 0":            "--keys",
		"proxy --to http://x --share y:6379":      `invalid argument "y:6379" for "--share" flag: want a URL like redis://host:6379`,
		"proxy --to http://x --classes read,list": `want one of read,write`,
	} {
		got := clitest.Run(t, []*cobra.Command{Command()}, strings.Fields(line)...)
		assert.Equal(t, cli.WrongUsage, got.Status, line)
		assert.Contains(t, got.Stderr, want, line)
	}
}
