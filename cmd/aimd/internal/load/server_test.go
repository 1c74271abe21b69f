package load

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// served returns the time that each of n requests took, and what the first was told.
func served(ctx context.Context, s *server, n int, apart time.Duration) (took []time.Duration, said string) {
	h := s.serve(ctx)
	took = make([]time.Duration, n)
	var wg sync.WaitGroup
	for i := range took {
		wg.Go(func() {
			began, w := time.Now(), httptest.NewRecorder()
			h(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			if took[i] = time.Since(began); i == 0 {
				said = w.Body.String()
			}
		})
		time.Sleep(apart)
		synctest.Wait()
	}
	wg.Wait()
	return took, said
}

// "Up to a certain limit of the number of simultaneous requests, the server
// responds with a fixed delay."
func TestAsManyAsTheLimitTakeTheBaseDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		took, said := served(t.Context(), s, 30, 0)
		for _, d := range took {
			assert.Equal(t, 100*time.Millisecond, d)
		}
		assert.Equal(t, "OK", said)
		assert.EqualValues(t, 30, s.answers.Load())
		assert.Zero(t, s.abandoned.Load())
		assert.Zero(t, s.concurrency.Load())
	})
}

// [Crash]: "And then the response time begins to increase exponentially depending on the
// number of simultaneous requests": those that are there now, so that it falls again.
func TestTheDelayIsThatOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.limit, s.factor, s.k = 1, 10, 1 // two at a time take a second
		took, _ := served(t.Context(), s, 2, 75*time.Millisecond)
		assert.Equal(t, time.Second, took[0])
		assert.Equal(t, 950*time.Millisecond, took[1], "25 ms after the first one's end it looks, and was here for long enough")
	})
}

func TestWhoGaveUpStaysAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		gone, giveUp := context.WithCancel(t.Context())
		giveUp()
		began, h := time.Now(), s.serve(t.Context())
		h(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, path, nil))
		assert.Equal(t, s.base, time.Since(began))
		assert.EqualValues(t, 1, s.answers.Load())
		assert.EqualValues(t, 1, s.abandoned.Load())
	})
}

func TestTheEndSendsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.base = time.Hour
		ctx, end := context.WithCancel(t.Context())
		time.AfterFunc(70*time.Millisecond, end)
		took, said := served(ctx, s, 1, 0)
		assert.Equal(t, []time.Duration{70 * time.Millisecond}, took)
		assert.Equal(t, "closed\n", said)
		assert.Zero(t, s.answers.Load())
	})
}

// The form of the text: "Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s".
func TestServerLines(t *testing.T) {
	s := newServer()
	s.concurrency.Store(8)
	s.last.Store(100 * time.Millisecond)
	assert.Equal(t, "Jun 21 22:13:07.492: concurrency:    8, last delay: 100ms", s.line(time.Date(2014, 6, 21, 22, 13, 7, 492e6, time.UTC)))
}

func TestWhatCanNotListenSaysSo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s := newServer()
	s.address = l.Addr().String()
	require.ErrorContains(t, s.run(t.Context(), io.Discard, io.Discard), "address already in use")
}

// On Linux a full backlog answers no client.
func TestBacklog(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems round it up, or refuse")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, setBacklog(l, 1))
	for range 2 { // one more than it says
		c, err := net.DialTimeout("tcp", l.Addr().String(), 20*time.Second)
		require.NoError(t, err)
		defer c.Close()
	}
	_, err = net.DialTimeout("tcp", l.Addr().String(), 50*time.Millisecond)
	require.ErrorContains(t, err, "timeout")
}
