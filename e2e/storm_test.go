package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The server of "Exponential Backoff or how not to crash a server" is stopped
// under load, and continued. They "have a large number of parameters that can be controlled"; these make
// the test short. 300 clients send 100 requests per second together. While the server is stopped each of them sends
// 300/(0.5 s + 0.05 s) = 545/s with fixed retry, and the kernel keeps them. When it
// continues it has c of them, each takes 50 ms * 1.05^((c-10)/14), and c leave in
// that time: 545/s, as many as come, at c = 1060. Above, c only grows. After 5 s of
// fixed retry it is above 1500; backoff leaves some 800 behind, of which more than
// 1000/s leave while 200/s come, Reno some 100.
var (
	stormServer = []string{"server", "-address", "127.0.0.1:0", "-duration", "2m", "-report", "500ms",
		"-limit", "10", "-baseDelay", "50ms", "-factor", "1.05", "-K", "14", "-recheck", "25ms", "-backlog", strconv.Itoa(stormBacklog)}
	stormClient = []string{"client", "-duration", "2m", "-report", "500ms",
		"-clients", "300", "-lambda", "3", "-timeout", "500ms"}
)

const (
	stormBacklog = 4096
	// stormRate is how many requests per second the clients send while all is well.
	stormRate = 100
	// Lines that the client writes, two a second: before the stop, during it, and
	// after it while the server does not come back.
	stormBefore, stormDuring, stormAfter = 6, 8, 12
)

// Fixed repeats "may not allow the server to 'rise', and using
// exponential backoff avoids this problem". Nor is there a problem with Reno.
func TestStorm(t *testing.T) {
	beside(t)
	requireBacklog(t)
	for _, c := range []struct {
		strategy string
		flags    []string
		recovers bool
	}{
		{"fixed", []string{"-simple-backoff-delay", "50ms"}, false},
		{"exponential", []string{"-min-delay", "300ms", "-max-delay", "2s"}, true},
		{"reno-0.9", nil, true},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			t.Parallel()
			attempt(t, func(t *testing.T) bool {
				s, well := startStorm(t, append([]string{"-strategy", c.strategy}, c.flags...)...)
				switch {
				case !well:
					return false
				case c.recovers:
					return s.recovers(t)
				}
				return s.staysDown(t)
			})
		})
	}
}

// storm is the server, and a client process of many clients.
type storm struct {
	server, client *process
	// usual is the rate of successes before the stop, per second, sent how many
	// requests timed out during it.
	usual, sent float64
	// continued is the number of lines at its end.
	continued int
}

// startStorm starts both processes, and stops the server for a while. If the machine is too busy for the
// test, it reports that all was not well before the stop.
func startStorm(t *testing.T, flags ...string) (s *storm, well bool) {
	t.Helper()
	s = &storm{server: startAimd(t, stormServer...)}
	s.client = startAimd(t, slices.Concat(stormClient, []string{"-url", s.url(t)}, flags)...)

	s.await(t, stormBefore)
	for _, l := range s.lines()[2:stormBefore] {
		s.usual += l.ok / (stormBefore - 2)
	}
	require.NoError(t, s.server.cmd.Process.Signal(syscall.SIGSTOP))
	// The client may be late with two lines, and the line after those has the last answers.
	stopped := len(s.lines()) + 3
	s.await(t, stopped+stormDuring)
	for _, l := range s.lines()[stopped:] {
		require.Zero(t, l.ok, "a stopped server answers nothing")
		s.sent += l.timedout * 0.5
	}
	require.NoError(t, s.server.cmd.Process.Signal(syscall.SIGCONT))
	s.continued = len(s.lines())
	return s, s.usual > 0.5*stormRate
}

// staysDown reports whether the server answers at most a few requests after the stop.
func (s *storm) staysDown(t *testing.T) bool {
	t.Helper()
	s.await(t, s.continued+stormAfter)
	after := s.lines()[s.continued:]
	figures.log(t, "%.0f/s, %.0f timeouts in a stop of %v, and after it %.0f/s with %.0f timeouts/s",
		s.usual, s.sent, stormDuring*time.Second/2, mean(after, ok), mean(after, timedout))
	s.interrupt(t)
	return mean(after, ok) < 0.05*s.usual && mean(after, timedout) > 2*stormRate
}

// recovers reports whether two seconds come soon after the stop with the usual number of
// answers and without a timeout.
func (s *storm) recovers(t *testing.T) bool {
	t.Helper()
	const span, most = 4, 40
	for n := s.continued + span; n <= s.continued+most; n++ {
		s.await(t, n)
		last := s.lines()[n-span : n]
		if mean(last, ok) > 0.8*s.usual && mean(last, timedout) == 0 {
			figures.log(t, "%.0f/s, %.0f timeouts in a stop of %v, and %v after it %.0f/s again",
				s.usual, s.sent, stormDuring*time.Second/2, time.Duration(n-span-s.continued)*time.Second/2, mean(last, ok))
			s.interrupt(t)
			return true
		}
	}
	return false
}

// interrupt ends both processes as Ctrl-C does, and requires their summaries.
func (s *storm) interrupt(t *testing.T) {
	t.Helper()
	for p, summary := range map[*process]string{s.client: " were given up.", s.server: "for clients that had given up"} {
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		p.stop()
		assert.Zero(t, p.cmd.ProcessState.ExitCode())
		assert.Contains(t, p.output.String(), summary)
	}
}

// url is where the server says that it is.
func (s *storm) url(t *testing.T) (url string) {
	t.Helper()
	eventually(t, func() bool {
		_, said, _ := strings.Cut(s.server.output.String(), "Listening at ")
		var found bool
		url, _, found = strings.Cut(said, ",")
		return found
	}, "the server does not say where it is")
	return url
}

// line is a line of the client's report.
type line struct{ ok, errors, timedout float64 }

func ok(l line) float64       { return l.ok }
func timedout(l line) float64 { return l.timedout }

func mean(lines []line, of func(line) float64) (m float64) {
	for _, l := range lines {
		m += of(l) / float64(len(lines))
	}
	return m
}

// lines are the client's lines so far.
func (s *storm) lines() (all []line) {
	for text := range strings.Lines(s.client.output.String()) {
		var l line
		if n, _ := fmt.Sscanf(text, "OK: %f req/sec, errors: %f req/sec, timedout: %f req/sec\n", &l.ok, &l.errors, &l.timedout); n == 3 && strings.HasSuffix(text, "\n") {
			all = append(all, l)
		}
	}
	return all
}

// await waits for n lines.
func (s *storm) await(t *testing.T, n int) {
	t.Helper()
	eventually(t, func() bool { return strings.Count(s.client.output.String(), " req/sec\n") >= n }, "the client writes no more lines")
}

// startAimd starts our own tool. It is interrupted when the test ends.
func startAimd(t *testing.T, args ...string) *process {
	t.Helper()
	p := startProcess(t, exec.Command(aimdTool(t), args...))
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have ended
		_ = p.cmd.Process.Signal(os.Interrupt)
	})
	return p
}

// requireBacklog requires a system that keeps the connections of a stopped server, as
// Linux does since 5.4.
func requireBacklog(t *testing.T) {
	t.Helper()
	const setting = "/proc/sys/net/core/somaxconn"
	text, err := os.ReadFile(setting)
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, stormBacklog, setting)
}
