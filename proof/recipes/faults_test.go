package recipes

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"

	"github.com/aimd-go/aimd"
)

// passes issues tokens of a minute, a new one for each half.
type passes struct{ start time.Time }

func (p passes) Token() (*oauth2.Token, error) {
	n := int(time.Since(p.start) / (30 * time.Second))
	return &oauth2.Token{AccessToken: fmt.Sprint(n), Expiry: p.start.Add(time.Duration(n+2) * 30 * time.Second)}, nil
}

// good reports whether a token is of this minute.
func (p passes) good(header string) bool {
	var n int
	_, err := fmt.Sscan(strings.TrimPrefix(header, "Bearer "), &n)
	return err == nil && time.Since(p.start) < time.Duration(n+2)*30*time.Second
}

// 200 reads at 2 a second, with tokens of a minute: with the authentication above the limiter the token was taken before the wait
// for the slot, and 401 is final.
func TestATokenFromBeforeTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := passes{time.Now()}
		var mu sync.Mutex
		var last time.Time
		refused := 0
		byDefault(t, inMemory(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			switch {
			case !p.good(r.Header.Get("Authorization")):
				refused++
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":{"code":401,"message":"Invalid Credentials"}}`)
			case time.Since(last) < 490*time.Millisecond:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(w, `{"error":{"code":429,"message":"rateLimitExceeded"}}`)
			default:
				last = time.Now()
				fmt.Fprint(w, `{"name":"key"}`)
			}
		}))
		lim := newLimiter(t, aimd.Config{MaxRate: 2, MaxWindow: 4})
		client, err := newStorage(t.Context(), lim, option.WithTokenSource(p))
		require.NoError(t, err)
		client.BasePath = service
		var done atomic.Int32
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				err := retried(func() error {
					_, err := client.Objects.Get("bucket", "key").Context(t.Context()).Do()
					return err
				})
				if err == nil {
					done.Add(1)
				}
			})
		}
		all.Wait()
		t.Logf("%d of 200 read, %d answers of 401", done.Load(), refused)
		require.EqualValues(t, 200, done.Load())
	})
}

// retried calls a function again after a 429: the client of this test has no retries for a reading.
func retried(call func() error) error {
	for {
		if err := call(); err == nil || !strings.Contains(err.Error(), "429") {
			return err
		}
	}
}
