package load

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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
	c.n, c.lambda, c.to = 10, 0.001, &b
	if c.timeout == 0 {
		c.timeout = time.Minute
	}
	if c.every == 0 {
		c.every = time.Hour
	}
	require.NoError(t, c.run(ctx, s))
	return b.String()
}

func served(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }

// summary is the last line of a run with JSON.
func summary(t *testing.T, out string) clientCounts {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct {
		Summary struct {
			Strategy string
			Seconds  float64
			clientCounts
		}
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.NotEmpty(t, last.Summary.Strategy)
	require.Positive(t, last.Summary.Seconds)
	return last.Summary.clientCounts
}

// Each attempt counts as what it came to. Every failure is given up, but those of clients
// whom the end of the run finds between the two.
func TestWhatAttemptsComeTo(t *testing.T) {
	jsonLines := func(timeout time.Duration) *clients {
		return &clients{reports: reports{json: true}, timeout: timeout}
	}
	n := summary(t, sent(t, jsonLines(0), "fixed", 100, served))
	assert.InDelta(t, 100, n.OK, 10, "but for those under way in the end")
	assert.Equal(t, clientCounts{OK: n.OK}, n)

	givenUp := func(failures int64) {
		assert.Positive(t, failures)
		assert.LessOrEqual(t, n.GaveUp, failures)
		assert.GreaterOrEqual(t, n.GaveUp, failures-10)
		assert.Positive(t, n.GaveUp)
	}
	n = summary(t, sent(t, jsonLines(0), "none", 100, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusServiceUnavailable)
	}))
	assert.InDelta(t, 100, n.Errors, 10)
	givenUp(n.Errors)
	assert.Equal(t, clientCounts{Errors: n.Errors, GaveUp: n.GaveUp}, n)

	n = summary(t, sent(t, jsonLines(20*time.Millisecond), "none", 50, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	givenUp(n.TimedOut)
	assert.Equal(t, clientCounts{TimedOut: n.TimedOut, GaveUp: n.GaveUp}, n)

	nobody := jsonLines(0)
	nobody.url = "http://127.0.0.1:1/"
	ctx, end := context.WithCancel(t.Context())
	go func() {
		defer end()
		for nobody.now().GaveUp == 0 {
			time.Sleep(time.Millisecond)
		}
	}()
	n = summary(t, runClients(t, ctx, nobody, "none"))
	givenUp(n.Errors)
	assert.Equal(t, clientCounts{Errors: n.Errors, GaveUp: n.GaveUp}, n)
}

func TestClientLines(t *testing.T) {
	const form = `OK: \d+\.\d\d req/sec, errors: \d+\.\d\d req/sec, timedout: \d+\.\d\d req/sec\n`
	out := sent(t, &clients{reports: reports{every: 10 * time.Millisecond}}, "fixed", 500, served)
	assert.Regexp(t, `^(`+form+`)+fixed, \d.*s: OK: \d+, errors: 0, timedout: 0; 0 were given up.\n$`, out)
	out = sent(t, new(clients), "reno-0.9", 10, served)
	assert.Regexp(t, `^reno-0.9, .*\ncwnd=20\.0 ssthresh=1024\.0 .*\n$`, out)

	before := clientCounts{OK: 1000, Errors: 7, TimedOut: 1}
	now := clientCounts{OK: 1180, Errors: 7, TimedOut: 114, GaveUp: 5}
	line := new(clients).report(time.Now(), now.since(before, 5*time.Second)).line
	assert.Equal(t, "OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec", line, "as in the text")

	for name, want := range map[string][]string{
		"fixed":     {"time", "ok_per_s", "errors_per_s", "timedout_per_s", "gave_up_per_s"},
		"tahoe-0.5": {"time", "ok_per_s", "errors_per_s", "timedout_per_s", "gave_up_per_s", "cwnd", "ssthresh", "in_flight", "queued"},
	} {
		out := sent(t, &clients{reports: reports{every: 5 * time.Millisecond, json: true}}, name, 500, served)
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(out[:strings.Index(out, "\n")]), &line))
		assert.ElementsMatch(t, want, slices.Collect(maps.Keys(line)), name)
	}
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
