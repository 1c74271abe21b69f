package proxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

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
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = "localhost"
		b.admin().ServeHTTP(w, r)
		for _, metric := range []string{`aimd_shadow_attempts_total{limiter="all"} 40`, `aimd_shadow_held_total{limiter="all"} 3`, `aimd_shadow_refused_total{limiter="all"} 32`} {
			assert.Contains(t, w.Body.String(), metric)
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
