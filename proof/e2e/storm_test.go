package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The server of "Exponential Backoff or how not to crash a server" is stopped
// under load, and continued. They "have a large number of parameters that can be controlled"; these make
// the test short. 300 clients send 100 requests per second together. While the server is stopped each of them sends
// 300/(0.5 s + 0.05 s) = 545/s with fixed retry, and the kernel keeps them. When it
// continues it has c of them, each takes 50 ms * 1.05^((c-10)/14), and c leave in
// that time: 545/s, as many as come, at c = 1060. Above, c only grows. After 5 s of
// fixed retry it is above 1500; backoff leaves some 800 behind, of which more than
// 1000/s leave while 200/s come, a window some 100.
var (
	stormServer = strings.Fields("-address 127.0.0.1:0 -report 500ms -limit 10 -baseDelay 50ms -factor 1.05 -K 14 -recheck 25ms -backlog " + strconv.Itoa(stormBacklog))
	stormClient = strings.Fields("-report 500ms -clients 300 -lambda 3 -timeout 500ms")
)

const (
	stormBacklog = 4096
	// stormRate is how many requests per second the clients send while all is well.
	stormRate = 100
	// Lines that the client writes, two a second: before the stop, during it, and after it while the
	// server does not come back; and those within which it comes back.
	stormBefore, stormDuring, stormAfter, stormMost = 6, 8, 12, 40
)

// Fixed repeats "may not allow the server to 'rise', and using
// exponential backoff avoids this problem". Nor is there a problem with a window.
func TestStorm(t *testing.T) {
	beside(t)
	// Linux keeps the connections of a stopped server since 5.4.
	kept, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(kept)))
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, stormBacklog)
	for _, c := range []struct {
		flags    string
		recovers bool
	}{
		{"-simple-backoff-delay 50ms", false},
		{"-exponential-backoff -min-delay 300ms -max-delay 2s", true},
		{"-aimd", true},
	} {
		t.Run(c.flags, func(t *testing.T) {
			t.Parallel()
			attempt(t, func(t *testing.T) bool {
				s := startStorm(t, strings.Fields(c.flags)...)
				usual := mean(s.await(t, stormBefore)[2:], ok)
				s.server.signal(t, syscall.SIGSTOP)
				// The client may be late with two lines, and the line after those has the last answers.
				stopped := len(s.lines()) + 3
				during := s.await(t, stopped+stormDuring)[stopped:]
				require.Zero(t, mean(during, ok), "a stopped server answers nothing")
				s.server.signal(t, syscall.SIGCONT)
				continued := len(s.lines())
				if usual < 0.5*stormRate {
					return false // the machine is too busy
				}
				if !c.recovers {
					after := s.await(t, continued+stormAfter)[continued:]
					figures.log(t, "%.0f/s, and after the stop %.0f/s with %.0f timeouts/s", usual, mean(after, ok), mean(after, timedout))
					return mean(after, ok) < 0.05*usual && mean(after, timedout) > 2*stormRate
				}
				// Two seconds with the usual number of answers and without a timeout.
				for n := continued + 4; n <= continued+stormMost; n++ {
					if last := s.await(t, n)[n-4 : n]; mean(last, ok) > 0.8*usual && mean(last, timedout) == 0 {
						figures.log(t, "%.0f/s, and %v after the stop again", usual, time.Duration(n-4-continued)*time.Second/2)
						return true
					}
				}
				return false
			})
		})
	}
}

// storm is the server, and a client process of many clients.
type storm struct{ server, client *process }

// startStorm starts both processes; the server says where it listens.
func startStorm(t *testing.T, flags ...string) (s storm) {
	t.Helper()
	s.server = startProcess(t, server("TERM", append([]string{stormServerTool(t)}, stormServer...)...))
	t.Cleanup(func() { _ = s.server.send(syscall.SIGCONT) })
	var url string
	eventually(t, func() bool {
		_, said, _ := strings.Cut(s.server.output.String(), "Listening at ")
		var found bool
		url, _, found = strings.Cut(said, ",")
		return found
	}, "the server does not say where it is")
	s.client = startProcess(t, server("TERM", slices.Concat([]string{stormClientTool(t)}, stormClient, []string{"-url", url}, flags)...))
	return s
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
func (s storm) lines() (all []line) {
	for text := range strings.Lines(s.client.output.String()) {
		var l line
		if n, _ := fmt.Sscanf(text, "OK: %f req/sec, errors: %f req/sec, timedout: %f req/sec\n", &l.ok, &l.errors, &l.timedout); n == 3 && strings.HasSuffix(text, "\n") {
			all = append(all, l)
		}
	}
	return all
}

// await waits for n lines.
func (s storm) await(t *testing.T, n int) []line {
	t.Helper()
	eventually(t, func() bool { return len(s.lines()) >= n }, "the client writes no more lines")
	return s.lines()
}
