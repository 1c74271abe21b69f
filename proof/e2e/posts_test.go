package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// A POST behind nginx's limit_req as it comes, which refuses with 503 and without a Retry-After: with
// Resend503 none is lost and none is done twice; without it what is refused is the caller's.
func TestPostsBehindNginx(t *testing.T) {
	beside(t)
	const requests, rate = 200, 50
	for name, resend := range map[string]bool{"resent": true, "not resent": false} {
		t.Run(name, func(t *testing.T) {
			ctx := begin(t)
			b := (&backend{delay: 20 * time.Millisecond}).serve(t)
			n := nginx{Rate: rate}.start(t, b.address)
			l := limiter(t, aimd.Config{})
			transport := &httplimit.Transport{Limiter: l}
			transport.Resend503 = resend
			client := transport.Client()
			t.Cleanup(client.CloseIdleConnections)
			lost := atomic.NewInt64(0)
			together(requests, requests, func(i int) {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprint("http://", n.Listen, "/", i), strings.NewReader("work"))
				assert.NoError(t, err)
				if err := exchange(client, req); err != nil {
					lost.Inc()
				}
			})
			s, done := l.Snapshot(), requests-int(lost.Load())
			figures.log(t, "%d of %d lost, %d refused", lost.Load(), requests, s.Overloads)
			require.Equal(t, done, b.requests)
			require.Len(t, b.done, done)
			n.requireStatuses(t, map[string]int{"200": done, "503": int(s.Overloads)})
			require.Positive(t, s.Overloads, "nginx refused nothing")
			require.LessOrEqual(t, s.Overloads, uint64(2*requests), "more refused than the law allows itself")
			require.Equal(t, resend, done == requests)
		})
	}
}
