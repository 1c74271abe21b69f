package load

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/sim"
)

// The flags and defaults of the programs of "How not to crash a server".
func TestTheProgramsFlags(t *testing.T) {
	client, server := ClientCommand().Flags(), ServerCommand().Flags()
	for name, want := range map[string]string{
		"clients": "1000", "lambda": "10", "timeout": "2s", "simple-backoff-delay": "100ms", "url": "http://127.0.0.1:8070/api", "report": "5s",
	} {
		assert.Equal(t, want, client.Lookup(name).Value.String(), name)
	}
	for name, want := range map[string]string{
		"limit": "30", "factor": "1.05", "baseDelay": "100ms", "address": "127.0.0.1:8070", "K": "15", "recheck": "50ms", "report": "1s",
	} {
		assert.Equal(t, want, server.Lookup(name).Value.String(), name)
	}
}

func TestTheStrategyIsAsChosen(t *testing.T) {
	changed := strategy.Exponential()
	changed.Retry.Min, changed.Retry.Max = time.Second, 10*time.Second
	fixed := func(d time.Duration) sim.Strategy {
		return sim.Strategy{Name: "fixed", Retry: &backoff.Exponential{Min: d, Factor: 1}}
	}
	for _, c := range []struct {
		chosen clients
		want   sim.Strategy
	}{
		{*newClients(), fixed(100 * time.Millisecond)},
		{clients{name: "fixed", fixed: time.Second}, fixed(time.Second)},
		{clients{name: "exponential", fixed: time.Second}, strategy.Exponential()},
		{clients{name: "exponential", min: time.Second, max: 10 * time.Second}, changed},
		{clients{name: "tahoe-0.75"}, sim.Strategy{Name: "tahoe-0.75", Window: sim.Window{Law: "tahoe", Factor: 0.75}}},
	} {
		assert.Equal(t, c.want, c.chosen.strategy(), c.chosen.name)
	}
}

// sent runs ten clients against the handler until it got that number of requests. Further requests get no answer.
func sent(t *testing.T, name string, timeout time.Duration, requests int64, h http.HandlerFunc) (c *clients, stdout string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Inc(); {
		case n == requests:
			defer end()
		case n > requests:
			<-r.Context().Done()
			return
		}
		h(w, r)
	}))
	defer server.Close()
	c = newClients()
	c.url, c.name, c.timeout, c.n, c.lambda = server.URL, name, timeout, 10, 0.001
	s, err := strategy.New(c.strategy())
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, c.run(ctx, s, &b))
	return c, b.String()
}

// Each attempt counts as what it came to. Every failure is given up, but those of clients
// whom the end of the run finds between the two.
func TestWhatAttemptsComeTo(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		h       http.HandlerFunc
		of      func(*ends) *atomic.Int64
	}{
		"answered": {time.Minute, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }, func(e *ends) *atomic.Int64 { return &e.ok }},
		"refused":  {time.Minute, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }, func(e *ends) *atomic.Int64 { return &e.errors }},
		"late":     {20 * time.Millisecond, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(e *ends) *atomic.Int64 { return &e.timedOut }},
	} {
		clients, _ := sent(t, "none", c.timeout, 50, c.h)
		e := &clients.ends
		n := c.of(e).Load()
		assert.InDelta(t, 50, n, 10, name)
		assert.Equal(t, n, e.ok.Load()+e.errors.Load()+e.timedOut.Load(), name)
		if name == "answered" {
			n = 0
		}
		assert.LessOrEqual(t, e.gaveUp.Load(), n, name)
		assert.GreaterOrEqual(t, e.gaveUp.Load(), n-10, name)
	}
}

func TestClientLines(t *testing.T) {
	_, stdout := sent(t, "reno-0.9", time.Minute, 10, func(http.ResponseWriter, *http.Request) {})
	assert.Regexp(t, `^reno-0.9: .*\ncwnd=20\.0 ssthresh=1024\.0 .*\n$`, stdout)
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

// Both commands together, for a moment.
func TestServerServesClient(t *testing.T) {
	said, say := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	var lines bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- cli.Tool{Commands: []*cobra.Command{ServerCommand()}, Stdout: &lines, Stderr: say}.Run(ctx, "server", "--address", "127.0.0.1:0", "--baseDelay", "1ms", "--recheck", "1ms", "--report", "100ms")
	}()
	var url string
	for texts := bufio.NewScanner(said); url == "" && texts.Scan(); {
		url = regexp.MustCompile(`http://\S+/api`).FindString(texts.Text())
	}
	go io.Copy(io.Discard, said)

	moment, over := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, over)
	got := clitest.Here(moment, []*cobra.Command{ClientCommand()}, "client", "--url", url, "--clients", "10", "--lambda", "0.01", "--report", "100ms")
	require.Zero(t, got.Status, got.Stderr)
	assert.Regexp(t, `^(OK: \d+\.\d\d req/sec, errors: 0\.00 req/sec, timedout: 0\.00 req/sec\n)+fixed: OK: [1-9]\d*, errors: 0, timedout: 0; 0 were given up\.\n$`, got.Stdout)
	end()
	assert.Zero(t, <-ended, "Ctrl-C is the way to end it")
	assert.Regexp(t, `^([A-Z][a-z]{2} [ 123]\d \d\d:\d\d:\d\d\.\d{3}: concurrency: +\d+, last delay: (0s|1ms)\n)+`+
		`Served [1-9]\d* requests, \d+ of them for clients that had given up.\n$`, lines.String())
	require.NoError(t, say.Close())
}
