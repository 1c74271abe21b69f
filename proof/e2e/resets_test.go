package e2e

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
)

// forward is a proxy to a gateway. It keeps the host, which the signature covers, and adds no header.
func forward(t *testing.T, g *gateway) http.Handler {
	tr := newTransport(t, 0)
	tr.DisableCompression = true
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: g.address})
			r.Out.Host = r.In.Host
		},
		Transport: tr,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
}

// reset cuts the connection off without an answer.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	// With 0 the kernel sends RST at once, also with data to send or to read.
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Connections are reset before the answer, some before the store has seen the
// request and some after it has stored the object.
func TestResets(t *testing.T) {
	beside(t)
	for name, through := range map[string]sdk{"aws": throughAWS, "minio": throughMinio} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			u := newBulk(ctx, t, slots, 400)
			// The store is to refuse, too. On a machine that is slow itself the law may stay below its cap.
			u.limiter = limiter(t, aimd.Config{InitialWindow: 2 * slots})
			proxy, resets := forward(t, u.gateway), atomic.NewInt64(0)
			f := (&backend{serves: func(w http.ResponseWriter, r *http.Request, n int) {
				switch n % 20 {
				case 7:
					_, _ = io.Copy(io.Discard, r.Body)
				case 17:
					proxy.ServeHTTP(httptest.NewRecorder(), r)
				default:
					proxy.ServeHTTP(w, r)
					return
				}
				resets.Inc()
				reset(w)
			}}).serve(t)
			u.put = through(t, f.address, u.limiter)
			now := u.run(ctx, t)
			figures.log(t, "%d of %d requests reset, %v, %.4f attempts per object, %d refused, cwnd %.1f",
				resets.Load(), f.requests, u.took.Round(10*time.Millisecond), u.each(), now.Overloads, now.Cwnd)
			require.NotZero(t, resets.Load())
			require.NotZero(t, now.Overloads, "the store refuses above its cap, with its own SlowDown")
			require.EqualValues(t, f.requests, now.Attempts, "one attempt for each request")
			require.EqualValues(t, resets.Load(), now.Neutrals, "a reset says nothing about load")
		})
	}
}
