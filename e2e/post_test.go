package e2e

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// A POST behind nginx's limit_req as it comes, which refuses with 503 and without a Retry-After: with
// ResendUnavailable none is lost and none is done twice; without it what is refused is the caller's.
func TestPostsBehindNginx(t *testing.T) {
	const requests, rate = 200, 50
	for name, resend := range map[string]bool{"resent": true, "not resent": false} {
		t.Run(name, func(t *testing.T) {
			ctx := begin(t)
			var done, refused atomic.Int64
			b := (&backend{serves: func(_ http.ResponseWriter, r *http.Request, _ int) {
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(20 * time.Millisecond)
				done.Add(1)
			}}).serve(t)
			n := nginx{Rate: rate, Plain: true}.start(t, b.address)
			l, err := aimd.New(aimd.Config{})
			require.NoError(t, err)
			transport := httplimit.New(nil, l)
			transport.ResendUnavailable = resend
			client := transport.Client()
			t.Cleanup(client.CloseIdleConnections)
			var all sync.WaitGroup
			for range requests {
				all.Go(func() {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.Listen+"/", strings.NewReader("work"))
					assert.NoError(t, err)
					resp, err := client.Do(req)
					if !assert.NoError(t, err) {
						return
					}
					resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						refused.Add(1)
					}
				})
			}
			all.Wait()
			lost := int(refused.Load())
			s := l.Snapshot()
			require.EqualValues(t, requests-lost, done.Load())
			n.requireStatuses(t, map[string]int{"200": requests - lost, "503": int(s.Overloads)})
			require.Positive(t, s.Overloads, "nginx refused nothing")
			require.Equal(t, name == "not resent", lost > 0)
			t.Logf("%d of %d lost, %d refused", lost, requests, s.Overloads)
		})
	}
}
