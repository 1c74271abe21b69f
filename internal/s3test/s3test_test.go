package s3test_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/s3test"
)

// Of forty requests at once the store serves four, and refuses the others with S3's SlowDown.
func TestAStoreRefusesAboveItsSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := s3test.Store{InMemory: true, Slots: 4, Service: 100 * time.Millisecond, Next: http.NotFoundHandler()}
		store.Script = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodDelete {
				s3test.Answer(w, r, http.StatusNoContent, "")
			}
			return r.Method == http.MethodDelete
		}
		store.Start()
		defer store.Close()
		base := &http.Transport{DialContext: store.Dial}
		defer base.CloseIdleConnections()
		do := func(method string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), method, store.URL, nil)
			require.NoError(t, err)
			resp, err := base.RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp.StatusCode, string(body)
		}

		start := time.Now()
		var all sync.WaitGroup
		var served, refused atomic.Int64
		for range 40 {
			all.Go(func() {
				switch status, body := do(http.MethodGet); status {
				case http.StatusNotFound:
					served.Inc()
				case http.StatusServiceUnavailable:
					refused.Inc()
					assert.Equal(t, s3test.SlowDown, body)
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 4, served.Load())
		assert.EqualValues(t, 36, refused.Load())
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
		requests, turnedAway := store.Counts()
		assert.Equal(t, []int{40, 36, 4}, []int{requests, turnedAway, store.Peak()})

		status, _ := do(http.MethodDelete)
		assert.Equal(t, http.StatusNoContent, status, "the script answers instead")
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
	})
}
