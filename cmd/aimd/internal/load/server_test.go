package load

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lines of the text: "concurrency: 1040, last delay: 2.671444385s" and so on.
func TestDelayIsThatOfTheText(t *testing.T) {
	for concurrency, want := range map[int]string{
		0: "100ms", 8: "100ms", 30: "100ms", 45: "105ms",
		1040: "2.671444385s", 1599: "16.458895305s", 1925: "47.524196455s", 2231: "2m8.580906589s",
	} {
		assert.Equal(t, want, newServer().delay(concurrency).String(), "%d at a time", concurrency)
	}
}

func FuzzDelay(f *testing.F) {
	f.Add(30, 1.05, 15.0, int64(100*time.Millisecond), 1040)
	f.Add(30, 1.05, 15.0, int64(100*time.Millisecond), 7793) // nanoseconds no longer go into 64 bits
	f.Add(1, 1000.0, 0.001, int64(time.Hour), math.MaxInt32)
	f.Fuzz(func(t *testing.T, limit int, factor, k float64, base int64, concurrency int) {
		c := &server{limit: limit, factor: factor, k: k, base: time.Duration(base)}
		// What the flags let through.
		if limit < 1 || limit > 1_000_000 || !(factor >= 1 && factor <= 1000) || !(k >= 0.001 && k <= 1e6) ||
			c.base < time.Millisecond || c.base > time.Hour || concurrency < 0 || concurrency > math.MaxInt32-1 {
			t.Skip()
		}
		d := c.delay(concurrency)
		assert.GreaterOrEqual(t, d, c.base)
		assert.LessOrEqual(t, d, longestDelay)
		assert.GreaterOrEqual(t, c.delay(concurrency+1), d)
	})
}

// request is one to the service, made at once and answered in the bubble.
func request(ctx context.Context, s *server, done func(*httptest.ResponseRecorder, time.Duration)) {
	began := time.Now()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	done(w, time.Since(began))
}

// "Up to a certain limit of the number of simultaneous requests, the server
// responds with a fixed delay."
func TestAsManyAsTheLimitTakeTheBaseDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				request(t.Context(), s, func(w *httptest.ResponseRecorder, took time.Duration) {
					assert.Equal(t, 100*time.Millisecond, took)
					assert.Equal(t, "OK", w.Body.String())
				})
			})
		}
		wg.Wait()
		assert.Equal(t, served{peak: 30, lastDelay: 100 * time.Millisecond, answers: 30}, s.now())
	})
}

// [Crash]: "And then the response time begins to increase exponentially depending on the
// number of simultaneous requests": those that are there now, so that it falls again.
func TestTheDelayIsThatOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.limit, s.factor, s.k = 1, 10, 1 // two at a time take a second
		var wg sync.WaitGroup
		var took [2]time.Duration
		for i := range took {
			wg.Go(func() { request(t.Context(), s, func(_ *httptest.ResponseRecorder, d time.Duration) { took[i] = d }) })
			time.Sleep(75 * time.Millisecond)
		}
		assert.Equal(t, 2, s.now().concurrency, "both are there")
		wg.Wait()
		assert.Equal(t, time.Second, took[0])
		assert.Equal(t, 950*time.Millisecond, took[1], "25 ms after the first one's end it looks, and was here for long enough")
	})
}

func TestWhoGaveUpStaysAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.limit, s.factor, s.k = 1, 10, 1
		ctx, giveUp := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { request(ctx, s, func(*httptest.ResponseRecorder, time.Duration) {}) })
		}
		time.Sleep(500 * time.Millisecond)
		giveUp()
		synctest.Wait()
		assert.Equal(t, 2, s.now().concurrency)
		wg.Wait()
		assert.Equal(t, served{peak: 2, lastDelay: s.now().lastDelay, answers: 2, abandoned: 2}, s.now())
	})
}

func TestCloseSendsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.base = time.Hour
		time.AfterFunc(10*time.Millisecond, func() { close(s.closed) })
		request(t.Context(), s, func(w *httptest.ResponseRecorder, took time.Duration) {
			assert.Equal(t, 10*time.Millisecond, took)
			assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		})
		require.Zero(t, s.now().answers)
	})
}
