package proxy

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
