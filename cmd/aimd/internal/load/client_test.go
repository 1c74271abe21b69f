package load

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
)

// sent runs clients against the handler until it got that number of requests. Further requests get no answer.
func sent(t *testing.T, c *clients, name string, requests int64, h http.HandlerFunc) (stdout string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n == requests:
			defer end()
		case n > requests:
			<-r.Context().Done()
			return
		}
		h(w, r)
	}))
	defer server.Close()
	c.url = server.URL
	return runClients(t, ctx, c, name)
}

func runClients(t *testing.T, ctx context.Context, c *clients, name string) (stdout string) {
	t.Helper()
	s, known := strategy.Named(name)
	require.True(t, known)
	var b bytes.Buffer
	c.n, c.lambda = 10, 0.001
	require.NoError(t, c.run(ctx, s, &b))
	return b.String()
}

func answers(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }

// ends are how attempts ended, and the number of operations that were given up.
type ends struct{ ok, errors, timedOut, gaveUp int64 }

func (c *clients) ends() ends {
	return ends{c.ok.Load(), c.errors.Load(), c.timedOut.Load(), c.gaveUp.Load()}
}

// Each attempt counts as what it came to. Every failure is given up, but those of clients
// whom the end of the run finds between the two.
func TestWhatAttemptsComeTo(t *testing.T) {
	c := newClients()
	sent(t, c, "fixed", 100, answers)
	assert.InDelta(t, 100, c.ok.Load(), 10, "but for those under way in the end")
	assert.Equal(t, ends{ok: c.ok.Load()}, c.ends())

	givenUp := func(failures int64) {
		t.Helper()
		n := c.gaveUp.Load()
		assert.Positive(t, n)
		assert.LessOrEqual(t, n, failures)
		assert.GreaterOrEqual(t, n, failures-10)
	}
	c = newClients()
	sent(t, c, "none", 100, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusServiceUnavailable)
	})
	assert.InDelta(t, 100, c.errors.Load(), 10)
	givenUp(c.errors.Load())
	assert.Equal(t, ends{errors: c.errors.Load(), gaveUp: c.gaveUp.Load()}, c.ends())

	c = newClients()
	c.timeout = 20 * time.Millisecond
	sent(t, c, "none", 50, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	givenUp(c.timedOut.Load())
	assert.Equal(t, ends{timedOut: c.timedOut.Load(), gaveUp: c.gaveUp.Load()}, c.ends())

	c = newClients()
	c.url = "http://127.0.0.1:1/"
	ctx, end := context.WithCancel(t.Context())
	go func() {
		defer end()
		for c.gaveUp.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
	}()
	runClients(t, ctx, c, "none")
	givenUp(c.errors.Load())
}

// The duration ends a run as Ctrl-C does. A deadline would end each operation whose next attempt
// is due after it, and its client would send another one: a storm in the last seconds.
func TestDurationIsNoDeadline(t *testing.T) {
	got := aimd(t, "client", "-strategy", "exponential", "-min-delay", "1m", "-clients", "5", "-lambda", "0.001",
		"-url", "http://127.0.0.1:1/api", "-duration", "100ms")
	require.Zero(t, got.Status, got.Stderr)
	assert.Regexp(t, `: OK: 0, errors: 5, timedout: 0; 0 were given up\.\n$`, got.Stdout, "each client waits for its second attempt")
}

func TestClientLines(t *testing.T) {
	const form = `OK: \d+\.\d\d req/sec, errors: \d+\.\d\d req/sec, timedout: \d+\.\d\d req/sec\n`
	c := newClients()
	c.every = 10 * time.Millisecond
	assert.Regexp(t, `^(`+form+`)+fixed, \d.*s: OK: \d+, errors: 0, timedout: 0; 0 were given up.\n$`, sent(t, c, "fixed", 500, answers))
	c = newClients()
	c.every = time.Hour
	assert.Regexp(t, `^reno-0.9, .*\ncwnd=20\.0 ssthresh=1024\.0 .*\n$`, sent(t, c, "reno-0.9", 10, answers))
	assert.Equal(t, "OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec",
		rates([3]int64{1000, 7, 1}, [3]int64{1180, 7, 114}, 5*time.Second), "as in the text")
}

// "Executes queries at intervals corresponding to an exponential distribution."
func TestTheIntervalsAreExponential(t *testing.T) {
	const n = 20_000
	mean, above := 0.0, 0
	c := &clients{lambda: 10}
	for range n {
		d := c.interval()
		mean += d.Seconds() / n
		if d > 10*time.Second {
			above++
		}
	}
	assert.InDelta(t, 10, mean, 0.5, "seven standard deviations")
	assert.InDelta(t, 1/2.71828, float64(above)/n, 0.03)
}
