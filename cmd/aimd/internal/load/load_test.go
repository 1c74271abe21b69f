package load

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/sim"
)

// aimd runs a command line in an empty directory.
func aimd(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return clitest.Run(t, []*cobra.Command{ServerCommand(), ClientCommand()}, args...)
}

// The flags and defaults of the programs of "How not to crash a server".
func TestTheProgramsFlags(t *testing.T) {
	for _, c := range []struct {
		flags *pflag.FlagSet
		want  map[string]string
	}{
		{ClientCommand().Flags(), map[string]string{
			"clients": "1000", "lambda": "10", "timeout": "2s", "simple-backoff-delay": "100ms",
			"url": "http://127.0.0.1:8070/api", "report": "5s",
		}},
		{ServerCommand().Flags(), map[string]string{
			"limit": "30", "factor": "1.05", "baseDelay": "100ms", "address": "127.0.0.1:8070", "K": "15", "recheck": "50ms", "report": "1s",
		}},
	} {
		for name, want := range c.want {
			f := c.flags.Lookup(name)
			require.NotNil(t, f, name)
			assert.Equal(t, want, f.Value.String(), name)
		}
	}
}

func TestTheStrategyIsAsChosen(t *testing.T) {
	changed := func(change func(*sim.Retry)) sim.Strategy {
		s := strategy.Exponential()
		change(&s.Retry)
		return s
	}
	fixed := sim.Strategy{Name: "fixed", Retry: sim.Retry{Kind: "constant", Min: 100 * time.Millisecond}}
	for _, c := range []struct {
		chosen clients
		want   sim.Strategy
	}{
		{*newClients(), fixed},
		{clients{name: "fixed", fixed: time.Second}, func() sim.Strategy { s := fixed; s.Retry.Min = time.Second; return s }()},
		{clients{name: "exponential", fixed: time.Second}, strategy.Exponential()},
		{clients{name: "exponential", min: time.Second, max: 10 * time.Second}, changed(func(r *sim.Retry) { r.Min, r.Max = time.Second, 10*time.Second })},
		{clients{name: "tahoe-0.75"}, sim.Strategy{Name: "tahoe-0.75", Window: sim.Window{Law: "tahoe", Factor: 0.75}}},
	} {
		got, err := c.chosen.strategy()
		require.NoError(t, err, c.chosen.name)
		assert.Equal(t, c.want, got, c.chosen.name)
	}
	for name, want := range map[string]string{"fixed": "makes no difference", "none": "makes no difference", "exponential": "5m"} {
		c := clients{name: name, min: time.Hour}
		_, err := c.strategy()
		require.ErrorContains(t, err, want, name)
		assert.ErrorContains(t, err, "--strategy "+name)
	}
}

// Both commands together, for a moment.
func TestServerServesClient(t *testing.T) {
	said, say := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	var lines bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- cli.Tool{Commands: []*cobra.Command{ServerCommand()}, Stdout: &lines, Stderr: say}.Run(ctx, "server", "-address", "127.0.0.1:0", "-baseDelay", "1ms", "-recheck", "1ms", "-report", "100ms")
	}()
	var url string
	for texts := bufio.NewScanner(said); url == "" && texts.Scan(); {
		url = regexp.MustCompile(`http://\S+/api`).FindString(texts.Text())
	}
	go io.Copy(io.Discard, said)

	got := aimd(t, "client", "-url", url, "-clients", "10", "-lambda", "0.01", "-duration", "300ms", "-report", "100ms")
	require.Zero(t, got.Status, got.Stderr)
	assert.Regexp(t, `^(OK: \d+\.\d\d req/sec, errors: 0\.00 req/sec, timedout: 0\.00 req/sec\n)+fixed, \S+: OK: \d+, errors: 0, timedout: 0; 0 were given up\.\n$`, got.Stdout)
	end()
	assert.Zero(t, <-ended, "Ctrl-C is the way to end it")
	assert.Regexp(t, `^([A-Z][a-z]{2} [ 123]\d \d\d:\d\d:\d\d\.\d{3}: concurrency: +\d+, last delay: (0s|1ms)\n)+`+
		`Served \d+ requests in \d.*s, \d+ of them for clients that had given up, at most \d+ at a time; \d+ were not done.\n$`, lines.String())
	require.NoError(t, say.Close())
}

func TestDurationEndsTheServer(t *testing.T) {
	got := aimd(t, "server", "-address", "127.0.0.1:0", "-duration", "10ms")
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stderr, "Listening at http://127.0.0.1:")
	assert.Regexp(t, `(?m)^Served 0 requests in `, got.Stdout)
}

// The form of the text: "Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s".
func TestServerLines(t *testing.T) {
	at := time.Date(2014, 6, 21, 22, 13, 7, 492e6, time.UTC)
	for want, n := range map[string]served{
		"Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s": {concurrency: 1040, lastDelay: 2671444385},
		"Jun 21 22:13:07.492: concurrency:    8, last delay: 100ms":        {concurrency: 8, lastDelay: 100 * time.Millisecond},
	} {
		assert.Equal(t, want, n.line(at))
	}
}

func TestWhatCanNotListenSaysSo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s := newServer()
	s.address = l.Addr().String()
	err = s.run(t.Context(), io.Discard, io.Discard)
	require.ErrorContains(t, err, "address already in use")
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
