package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func named(t *testing.T, name string) (c Config) {
	t.Helper()
	s, known := Named(name)
	require.True(t, known)
	return Config{Clients: 10, Lambda: time.Millisecond, Timeout: time.Minute, Strategy: s}
}

// run runs clients against the handler until it was asked so often.
func run(t *testing.T, c Config, o Options, requests int64, h http.HandlerFunc) (stdout string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, end := context.WithCancel(t.Context())
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == requests {
			defer end()
		}
		h(w, r)
	}))
	defer server.Close()
	var b bytes.Buffer
	c.URL, o.Stdout = server.URL, &b
	require.NoError(t, Run(ctx, c, o))
	return b.String()
}

func served(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }

// summary is the last line of a run with JSON.
func summary(t *testing.T, out string) counts {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct {
		Summary struct {
			Strategy string
			Seconds  float64
			counts
		}
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.NotEmpty(t, last.Summary.Strategy)
	require.Positive(t, last.Summary.Seconds)
	return last.Summary.counts
}

func TestWhatIsAnsweredIsOK(t *testing.T) {
	n := summary(t, run(t, named(t, "fixed"), Options{Report: time.Hour, JSON: true}, 100, served))
	assert.InDelta(t, 100, n.OK, 10, "but for those under way in the end")
	assert.Equal(t, counts{OK: n.OK}, n)
}

func TestAnErrorIsNone(t *testing.T) {
	c := named(t, "none")
	n := summary(t, run(t, c, Options{Report: time.Hour, JSON: true}, 100, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusServiceUnavailable)
	}))
	assert.InDelta(t, 100, n.Errors, 10)
	givenUp(t, c, n.Errors, n)
	assert.Equal(t, counts{Errors: n.Errors, GaveUp: n.GaveUp}, n)
}

func TestWhatTakesTooLongTimesOut(t *testing.T) {
	c := named(t, "none")
	c.Timeout = 20 * time.Millisecond
	n := summary(t, run(t, c, Options{Report: time.Hour, JSON: true}, 50, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	assert.Positive(t, n.TimedOut)
	givenUp(t, c, n.TimedOut, n)
	assert.Equal(t, counts{TimedOut: n.TimedOut, GaveUp: n.GaveUp}, n)
}

func TestNobodyThereIsAnError(t *testing.T) {
	c := named(t, "none")
	c.URL = "http://127.0.0.1:1/"
	var b bytes.Buffer
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	require.NoError(t, Run(ctx, c, Options{Report: time.Hour, JSON: true, Stdout: &b}))
	n := summary(t, b.String())
	assert.Positive(t, n.Errors)
	givenUp(t, c, n.Errors, n)
	assert.Equal(t, counts{Errors: n.Errors, GaveUp: n.GaveUp}, n)
}

// givenUp: every failure was given up, but those of clients whom the end of the run
// found between the two.
func givenUp(t *testing.T, c Config, failures int64, n counts) {
	t.Helper()
	assert.LessOrEqual(t, n.GaveUp, failures)
	assert.GreaterOrEqual(t, n.GaveUp, failures-int64(c.Clients))
	assert.Positive(t, n.GaveUp)
}

// The form of the text.
const form = `OK: \d+\.\d\d req/sec, errors: \d+\.\d\d req/sec, timedout: \d+\.\d\d req/sec\n`

func TestLines(t *testing.T) {
	out := run(t, named(t, "fixed"), Options{Report: 10 * time.Millisecond}, 500, served)
	assert.Regexp(t, `^(`+form+`)+fixed, \d.*s: OK: \d+, errors: 0, timedout: 0; 0 were given up.\n$`, out)
	out = run(t, named(t, "reno-0.9"), Options{Report: time.Hour}, 10, served)
	assert.Regexp(t, `^reno-0.9, .*\ncwnd=20\.0 ssthresh=1024\.0 .*\n$`, out)
}

func TestLineIsThatOfTheText(t *testing.T) {
	var b bytes.Buffer
	before := counts{OK: 1000, Errors: 7, TimedOut: 1}
	now := counts{OK: 1180, Errors: 7, TimedOut: 114, GaveUp: 5}
	require.NoError(t, (&clients{}).line(Options{Stdout: &b}, time.Now(), now.since(before, 5*time.Second)))
	assert.Equal(t, "OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec\n", b.String())
}

func TestJSONLines(t *testing.T) {
	for name, want := range map[string][]string{
		"fixed":     {"time", "ok_per_s", "errors_per_s", "timedout_per_s", "gave_up_per_s"},
		"tahoe-0.5": {"time", "ok_per_s", "errors_per_s", "timedout_per_s", "gave_up_per_s", "cwnd", "ssthresh", "in_flight", "queued"},
	} {
		out := run(t, named(t, name), Options{Report: 5 * time.Millisecond, JSON: true}, 500, served)
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(out[:strings.Index(out, "\n")]), &line))
		var keys []string
		for k := range line {
			keys = append(keys, k)
		}
		assert.ElementsMatch(t, want, keys, name)
	}
}

// "Executes queries at intervals corresponding to an exponential distribution."
func TestTheIntervalsAreExponential(t *testing.T) {
	const n = 20_000
	mean, above := 0.0, 0
	c := &clients{config: Config{Lambda: 10 * time.Second}}
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
