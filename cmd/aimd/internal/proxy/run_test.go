//go:build unix

package proxy

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// More programs than files, which all keep their connections: each request is answered, and the log says what is short.
func TestMoreProgramsThanFiles(t *testing.T) {
	assert.Equal(t, []int{0, 1, 16, 112, 496, 10_000}, []int{half(0), half(8), half(64), half(256), half(1024), half(20_000)})
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	p := made(t, func(s *settings) { s.to = target.URL })
	defer p.base.CloseIdleConnections()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	said := 0
	server := p.server(p)
	served := make(chan error)
	few := newBounded(l, 4, p, server)
	few.short = func() { said++ }
	go func() { served <- server.Serve(few) }()
	ended := make(chan struct{})
	var asking, all sync.WaitGroup
	asking.Add(40)
	for range 40 {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for range 5 {
				resp, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
				if assert.NoError(t, err) {
					assert.Equal(t, 200, resp.StatusCode)
					assert.NoError(t, resp.Body.Close())
				}
			}
			asking.Done()
			<-ended
		})
	}
	asking.Wait()
	close(ended)
	all.Wait()
	require.NoError(t, server.Close())
	assert.ErrorIs(t, <-served, http.ErrServerClosed)
	assert.Equal(t, 1, said, "once a minute")
}

// start runs the command until end is called, and returns where it serves. logged waits for a line of its log.
func start(t *testing.T, args ...string) (url string, logged func(has string) string, end func() int) {
	t.Helper()
	said, say := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended, lines := make(chan int, 1), make(chan string, 1000)
	go func() {
		ended <- cli.Tool{Commands: []*cobra.Command{Command()}, Stdout: io.Discard, Stderr: say}.Run(ctx, append([]string{"proxy", "--listen", "127.0.0.1:0", "--drain-delay", "0"}, args...)...)
		say.Close()
	}()
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(said); in.Scan(); {
			lines <- in.Text()
		}
	}()
	logged = func(has string) string {
		for line := range lines {
			if strings.Contains(line, has) {
				return line
			}
		}
		return ""
	}
	return regexp.MustCompile(`http://[^"\s]+`).FindString(logged("listening")), logged, func() int { cancel(); return <-ended }
}

// SIGTERM ends the context of the command: a request in flight goes on to its end.
func TestItStopsCleanly(t *testing.T) {
	free, taken := make(chan struct{}), make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(taken)
		<-free
		io.WriteString(w, "done")
	}))
	defer target.Close()
	url, logged, end := start(t, "--to", target.URL, "--admin", "127.0.0.1:0")
	var all sync.WaitGroup
	all.Go(func() {
		_, text := answer(t, http.MethodGet, url, "")
		assert.Equal(t, "done", text)
	})
	<-taken
	all.Go(func() { assert.Zero(t, end()) })
	assert.NotEmpty(t, logged("stopping"))
	close(free)
	all.Wait()
}

// A file of rules that SIGHUP has read again. A document that is wrong changes nothing.
func TestRulesAtRunTime(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	rules := filepath.Join(t.TempDir(), "rules.json")
	write := func(text string) { require.NoError(t, os.WriteFile(rules, []byte(text), 0o600)) }
	write(`{"format": 1, "version": 1, "window": {"max": 7}}`)
	url, logged, end := start(t, "--to", target.URL, "--rules", rules)
	resp, _ := answer(t, http.MethodGet, url, "")
	assert.Equal(t, 200, resp.StatusCode)
	for _, c := range []struct{ text, want string }{
		{`{"format": 1, "version": 2, "window": {"max": 3}}`, "rules in force"},
		{`{"format": 1, "version": 3, "window": {"max": 0}}`, "window.max: 0 is not allowed"},
		{`{"format": 1, "version": 1}`, "2, which is in force"},
	} {
		write(c.text)
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		assert.Contains(t, logged("rules"), c.want)
	}
	assert.Zero(t, end())

	write("{")
	_, _, end = start(t, "--to", target.URL, "--rules", rules)
	assert.Equal(t, cli.Failed, end())
}

// The rules hold for each limiter, also for those that come later, and the metrics have how they came.
func TestRulesOfLimiters(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.json")
	require.NoError(t, os.WriteFile(rules, []byte(`{"format": 1, "version": 1, "window": {"max": 7, "max_rate": 5}}`), 0o600))
	_, p, _ := behind(t, http.NotFoundHandler(), func(s *settings) { s.rulesFile, s.maxWindow = rules, 100 })
	before, err := p.limiter("before")
	require.NoError(t, err)
	require.NoError(t, p.remote.Refresh(t.Context()))
	after, err := p.limiter("after")
	require.NoError(t, err)
	for _, l := range []*aimd.Limiter{before, after} {
		assert.EqualValues(t, 7, l.Snapshot().Config.MaxWindow)
		assert.EqualValues(t, 5, l.Snapshot().Config.MaxRate)
	}
	assert.Contains(t, p.admins("/metrics", "localhost").Body.String(), `aimd_remote_version{source="`+rules+`"} 1`)
	assert.Equal(t, 200, p.admins("/healthz", "").Code)
	assert.Contains(t, p.admins("/", "localhost").Body.String(), "<html")
}

// The windows of a proxy that stops are those of the next one, for an hour; also those that nobody asked for since. A
// file that is no state is left alone.
func TestTheStateIsKept(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	synctest.Test(t, func(t *testing.T) {
		for i, want := range []float64{initialWindow, 5, 5, initialWindow} {
			p := made(t, func(s *settings) { s.stateFile = state })
			var err error
			p.windows, err = load(state)
			require.NoError(t, err)
			end := p.keeping(nil)
			if i != 1 { // then nobody asks for it
				l := p.admitted(t)
				assert.Equal(t, want, l.Snapshot().Cwnd, i)
				if i == 0 {
					require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxWindow = 5 }))
				}
			}
			time.Sleep(11 * time.Second)
			text, err := os.ReadFile(state)
			require.NoError(t, err)
			assert.Contains(t, string(text), "key a", "it is saved now and then")
			end()
			if i == 2 {
				time.Sleep(time.Hour + 1)
			}
		}
	})
	// A file that a loss of power left empty is none. One of another program, and a folder that is not there, are told.
	require.NoError(t, os.WriteFile(state, nil, 0o600))
	_, _, end := start(t, "--to", "http://127.0.0.1:1", "--state", state)
	assert.Equal(t, 0, end())
	_, _, end = start(t, "--to", "http://127.0.0.1:1", "--state", filepath.Join(t.TempDir(), "none", "state"))
	assert.Equal(t, cli.Failed, end())
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("hello"), 0o600))
	_, _, end = start(t, "--to", "http://127.0.0.1:1", "--state", other)
	assert.Equal(t, cli.Failed, end())
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(text))
}

// admitted is the limiter of a request.
func (p *proxy) admitted(t *testing.T) *aimd.Limiter {
	t.Helper()
	l, err := p.limited.For("key a")
	require.NoError(t, err)
	return l
}

// BenchmarkProxy is a request through the proxy and, beside it, one through httputil.ReverseProxy alone. The
// difference is the proxy's cost.
func BenchmarkProxy(b *testing.B) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") }))
	defer target.Close()
	p, err := newProxy(settings{to: target.URL, keys: 1, queue: 1, hold: time.Minute, idle: time.Minute, buffer: 1 << 20, memory: 1 << 30}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	defer p.base.CloseIdleConnections()
	plain := &httputil.ReverseProxy{Rewrite: p.rewrite, Transport: p.base, FlushInterval: -1}
	ask := func(h http.Handler) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/items", nil)
		r.Host = "127.0.0.1"
		h.ServeHTTP(writer{w}, r)
		require.Equal(b, http.StatusOK, w.Code)
	}
	more := testing.AllocsPerRun(1000, func() { ask(p) }) - testing.AllocsPerRun(1000, func() { ask(plain) })
	require.LessOrEqual(b, more, 17.0, "allocations of the proxy itself") // 16, two of them for the kind of an answer, and one either way
	for name, h := range map[string]http.Handler{"aimd": p, "ReverseProxy": plain} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(h)
			}
		})
	}
}

// writer has deadlines, as that of a server.
type writer struct{ *httptest.ResponseRecorder }

func (writer) SetWriteDeadline(time.Time) error { return nil }
