// Package recipes has no code but tests: each recipe of docs/recipes.md and docs/parts.md as it compiles,
// against a server that answers as the real one does.
package recipes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
)

func TestMain(m *testing.M) {
	if os.Getenv("RECIPES_COMMAND") != "" {
		os.Exit(command())
	}
	goleak.VerifyTestMain(m)
}

// said is what a server says to one request.
type said struct {
	status int
	header map[string]string
	body   string
}

// captured is an answer of ../../answer/testdata. What it means is tested there.
func captured(t *testing.T, name string) said {
	t.Helper()
	text, err := os.ReadFile("../../answer/testdata/" + name + ".http")
	require.NoError(t, err)
	_, raw, _ := strings.Cut(string(text), "\nHTTP/")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/"+raw+"\n\n")), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := said{resp.StatusCode, map[string]string{}, strings.TrimSpace(string(body))}
	for key := range resp.Header {
		a.header[key] = resp.Header.Get(key)
	}
	return a
}

// cutOff before a body breaks the answer off behind it.
const cutOff = "cut off:"

// serve is a server in memory that gives these answers in turn, the last again and again.
// It returns a transport to it, and what counts the requests.
func serve(answers ...said) (*http.Transport, *int) {
	calls := 0
	return inMemory(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		a := answers[min(calls, len(answers)-1)]
		calls++
		w.Header().Set("Content-Type", "application/json")
		for key, value := range a.header {
			w.Header().Set(key, value)
		}
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	}), &calls
}

// inMemory returns a transport whose requests the handler serves.
func inMemory(h http.HandlerFunc) *http.Transport {
	tr := &http.Transport{}
	tr.RegisterProtocol("http", served(h))
	return tr
}

type served http.HandlerFunc

func (h served) RoundTrip(r *http.Request) (*http.Response, error) {
	rec, asked := httptest.NewRecorder(), r.Clone(r.Context())
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	defer asked.Body.Close()
	h(rec, asked)
	resp := rec.Result()
	resp.Request = r
	if body, broken := strings.CutPrefix(rec.Body.String(), cutOff); broken {
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return resp, nil
}

// serveConns returns a dialer of a server that serves each connection so.
func serveConns(serve func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			serve(there)
		}()
		return here, nil
	}
}

// byDefault makes a transport the one of http.DefaultClient until the test ends.
func byDefault(t *testing.T, tr http.RoundTripper) {
	kept := http.DefaultTransport
	http.DefaultTransport = struct{ http.RoundTripper }{tr} // a clone of an http.Transport would have a network
	t.Cleanup(func() { http.DefaultTransport = kept })
}

func newLimiter(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	lim, err := aimd.New(config)
	require.NoError(t, err)
	return lim
}

// xml is an answer of a store in that form.
func xml(status int, body string) said {
	return said{status, map[string]string{"Content-Type": "application/xml"}, body}
}
