package server

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

// textual is the server of the text: "minDelay (100 ms)", "concurrencyLimit (30)".
func textual() Config {
	return Config{Limit: 30, BaseDelay: 100 * time.Millisecond, Factor: 1.05, K: 15, Recheck: 50 * time.Millisecond}
}

// The lines of the text: "concurrency: 1040, last delay: 2.671444385s" and so on.
func TestDelayIsThatOfTheText(t *testing.T) {
	for concurrency, want := range map[int]string{
		0: "100ms", 8: "100ms", 30: "100ms", 45: "105ms",
		1040: "2.671444385s", 1599: "16.458895305s", 1925: "47.524196455s", 2231: "2m8.580906589s",
	} {
		assert.Equal(t, want, textual().Delay(concurrency).String(), "%d at a time", concurrency)
	}
}

func TestDelayDoesNotOverflow(t *testing.T) {
	// From here on nanoseconds do not go into 64 bits.
	for _, concurrency := range []int{7792, 7793, 100_000, math.MaxInt32} {
		assert.Equal(t, LongestDelay, textual().Delay(concurrency), "%d at a time", concurrency)
	}
}

func FuzzDelay(f *testing.F) {
	f.Add(30, 1.05, 15.0, int64(100*time.Millisecond), 1040)
	f.Add(1, 1000.0, 0.001, int64(time.Hour), math.MaxInt32)
	f.Fuzz(func(t *testing.T, limit int, factor, k float64, base int64, concurrency int) {
		c := Config{Limit: limit, Factor: factor, K: k, BaseDelay: time.Duration(base)}
		// What the flags let through.
		if limit < 1 || limit > 1_000_000 || !(factor >= 1 && factor <= 1000) || !(k >= 0.001 && k <= 1e6) ||
			c.BaseDelay < time.Millisecond || c.BaseDelay > time.Hour || concurrency < 0 || concurrency > math.MaxInt32-1 {
			t.Skip()
		}
		d := c.Delay(concurrency)
		assert.GreaterOrEqual(t, d, c.BaseDelay)
		assert.LessOrEqual(t, d, LongestDelay)
		assert.GreaterOrEqual(t, c.Delay(concurrency+1), d)
	})
}

// request is one to the service, made at once and answered in the bubble.
func request(ctx context.Context, s *Service, done func(*httptest.ResponseRecorder, time.Duration)) {
	began := time.Now()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, Path, nil))
	done(w, time.Since(began))
}

// "Up to a certain limit of the number of simultaneous requests, the server
// responds with a fixed delay."
func TestAsManyAsTheLimitTakeTheBaseDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(textual())
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
		assert.Equal(t, Counts{Peak: 30, LastDelay: 100 * time.Millisecond, Served: 30}, s.Counts())
	})
}

// [Crash]: "And then the response time begins to increase exponentially depending on the
// number of simultaneous requests": those that are there now, so that it falls again.
func TestTheDelayIsThatOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := textual()
		c.Limit, c.Factor, c.K = 1, 10, 1 // two at a time take a second
		s := New(c)
		var wg sync.WaitGroup
		var took [2]time.Duration
		for i := range took {
			wg.Go(func() { request(t.Context(), s, func(_ *httptest.ResponseRecorder, d time.Duration) { took[i] = d }) })
			time.Sleep(75 * time.Millisecond)
		}
		assert.Equal(t, 2, s.Counts().Concurrency, "both are there")
		wg.Wait()
		assert.Equal(t, time.Second, took[0])
		assert.Equal(t, 950*time.Millisecond, took[1], "25 ms after the first one's end it looks, and was here for long enough")
	})
}

func TestWhoGaveUpStaysAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := textual()
		c.Limit, c.Factor, c.K = 1, 10, 1
		s := New(c)
		ctx, giveUp := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { request(ctx, s, func(*httptest.ResponseRecorder, time.Duration) {}) })
		}
		time.Sleep(500 * time.Millisecond)
		giveUp()
		synctest.Wait()
		assert.Equal(t, 2, s.Counts().Concurrency)
		wg.Wait()
		assert.Equal(t, Counts{Peak: 2, LastDelay: s.Counts().LastDelay, Served: 2, Abandoned: 2}, s.Counts())
	})
}

func TestCloseSendsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := textual()
		c.BaseDelay = time.Hour
		s := New(c)
		time.AfterFunc(10*time.Millisecond, s.Close)
		request(t.Context(), s, func(w *httptest.ResponseRecorder, took time.Duration) {
			assert.Equal(t, 10*time.Millisecond, took)
			assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		})
		require.Zero(t, s.Counts().Served)
	})
}
