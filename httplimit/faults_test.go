package httplimit_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// Faults of connections and of requests that users of other clients reported. Each lost work here once.

// A name is not found for ten seconds of a run, as CoreDNS answers after a restart (coredns/kubernetai#25,
// kubernetes/kubernetes#87560). The service had answered before, and nothing was sent.
func TestANameThatIsForgottenInMidRun(t *testing.T) {
	for _, method := range []string{"GET", "PUT", "POST"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				client := clientOn(base(func(r *http.Request) (*http.Response, error) {
					if d := time.Since(start); d > time.Second && d < 11*time.Second {
						return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
					}
					return answers(200, nil, text("x"))(r)
				}), narrow(t, aimd.Config{}))
				for range 40 {
					time.Sleep(50 * time.Millisecond)
					req := get(t.Context(), anyURL)
					req.Method = method
					resp, err := client.Do(req)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
				}
			})
		})
	}
}

// A TLS handshake that times out comes before the first byte of the request, so a POST is sent again
// (aptly-dev/aptly#285, prasmussen/gdrive#89).
func TestAHandshakeThatTimesOutSentNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served, dials := 0, 0
		s := pipe2(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		over := s.Client().Transport.(*http.Transport)
		over.TLSHandshakeTimeout = time.Second
		dial := over.DialContext
		over.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials == 1 {
				silent, _ := net.Pipe()
				return silent, nil
			}
			return dial(ctx, network, address)
		}
		resp, err := clientOn(over, narrow(t, aimd.Config{})).Post(s.URL, "text/plain", strings.NewReader("hello"))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 2, dials)
		require.Equal(t, 1, served)
	})
}
