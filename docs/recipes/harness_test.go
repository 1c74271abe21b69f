// Package recipes has no code but tests: each recipe of ../recipes.md and ../coming-from.md as it compiles,
// against a server that answers as the real one does.
package recipes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/test/bufconn"

	"github.com/aimd-go/aimd"
)

func TestMain(m *testing.M) {
	if os.Getenv("RECIPES_COMMAND") != "" {
		os.Exit(command())
	}
	goleak.VerifyTestMain(m)
}

// answer is what a server says to one request.
type answer struct {
	status int
	header map[string]string
	body   string
}

// cutOff before a body breaks the connection off behind it.
const cutOff = "cut off:"

// serve starts a server in memory that gives these answers in turn, the last again and again.
// It returns a transport to it, and what counts the requests.
func serve(t *testing.T, answers ...answer) (*http.Transport, *int) {
	t.Helper()
	calls := 0
	return inMemory(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		a := answers[min(calls, len(answers)-1)]
		calls++
		w.Header().Set("Content-Type", "application/json")
		for key, value := range a.header {
			w.Header().Set(key, value)
		}
		w.WriteHeader(a.status)
		body, broken := strings.CutPrefix(a.body, cutOff)
		fmt.Fprint(w, body)
		if broken {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}), &calls
}

// inMemory starts a server in memory, and returns a transport to it.
func inMemory(t *testing.T, h http.HandlerFunc) *http.Transport {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	tr := &http.Transport{DialContext: l.dial, MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// pipes is a listener in memory. A bufconn would not do: a deadline that has passed as it is cleared still ends
// the next read, and net/http clears one after each request.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

// serveConns starts a server that serves each connection so, and returns its dialer.
func serveConns(t *testing.T, serve func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return dialing(l)
}

// dialing dials the listener, whatever the address.
func dialing(l *bufconn.Listener) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return l.DialContext(ctx) }
}

// byDefault makes a transport the one of http.DefaultClient until the test ends.
func byDefault(t *testing.T, tr http.RoundTripper) {
	kept := http.DefaultTransport
	http.DefaultTransport = tr
	t.Cleanup(func() { http.DefaultTransport = kept })
}

func newLimiter(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	lim, err := aimd.New(config)
	require.NoError(t, err)
	return lim
}

// Each block of Go in the pages stands in a test here, or in the Examples of the root, word for word but for
// the indentation.
func TestThePagesShowWhatIsTested(t *testing.T) {
	var page string
	for _, name := range []string{"../recipes.md", "../coming-from.md"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		page += string(text)
	}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var tested strings.Builder
	for _, f := range append(files, "../../example_test.go") {
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		tested.WriteString(flat(string(source)))
	}
	blocks := strings.Split(page, "```go\n")[1:]
	require.GreaterOrEqual(t, len(blocks), 7)
	for _, b := range blocks {
		code, _, ended := strings.Cut(b, "```")
		require.True(t, ended)
		require.True(t, strings.Contains(tested.String(), flat(code)), "no test has these lines:\n%s", code)
	}
}

// flat is the text without indentation.
func flat(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
