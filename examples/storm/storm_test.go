// Package storm tests that the command lines of "Exponential Backoff or how not to crash a server" run as there.
package storm

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start starts a program, and returns its output, line by line. The program ends with the test.
func start(t *testing.T, line string, more ...string) *bufio.Scanner {
	t.Helper()
	words := append(strings.Fields(line), more...)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = programs
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); _ = w.Close(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); go io.Copy(io.Discard, r); <-ended })
	return bufio.NewScanner(r)
}

// await returns what a pattern finds first in the output.
func await(t *testing.T, output *bufio.Scanner, pattern string) []string {
	t.Helper()
	for output.Scan() {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(output.Text()); found != nil {
			return found
		}
	}
	require.Fail(t, "the program ended without a line like this", pattern)
	return nil
}

// programs is the folder of the programs.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "storm"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(status)
}

// "$ go build -o client client.go", "$ go build -o server server.go", "$ ./server", "$ ./client",
// "$ ./client -exponential-backoff", "$ ./client -h", "$ ./server -h": the text's, with two dashes too. The
// addresses are the test's.
func TestTheTextsCommandLines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("./server is no name of a program there")
	}
	for _, name := range []string{"client", "server"} {
		out, err := exec.Command("go", "build", "-o", programs+"/"+name, "./"+name).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	server := start(t, programs+"/server", "-address", "127.0.0.1:0", "-report", "100ms")
	url := await(t, server, `^Listening at (\S+),`)[1]
	for _, line := range []string{"", "-exponential-backoff", "--exponential-backoff", "-exponential-backoff -factor 1.5 -jitter 0.2", "-aimd"} {
		client := start(t, programs+"/client "+line, "-url", url, "-clients", "20", "-lambda", "0.1", "-report", "300ms")
		await(t, client, `^OK: [1-9]\d*\.\d\d req/sec, errors: 0\.00 req/sec, timedout: 0\.00 req/sec$`)
	}
	await(t, server, `^[A-Z][a-z]{2} [ 123]\d \d\d:\d\d:\d\d\.\d{3}: concurrency: +\d+, last delay: 100ms$`)

	// The network is away: the clients repeat their requests as they do if the server fails.
	gone := start(t, programs+"/client", "-url", "http://127.0.0.1:1/api", "-clients", "20", "-lambda", "0.1", "-report", "300ms")
	await(t, gone, `^OK: 0\.00 req/sec, errors: [1-9]\d*\.\d\d req/sec, timedout: 0\.00 req/sec$`)

	for program, flags := range map[string]map[string]string{
		"client": {"clients": "1000", "lambda": "10", "timeout": "2s", "simple-backoff-delay": "100ms", "factor": "2.71828", "jitter": "0.1", "url": `"http://127.0.0.1:8070/api"`},
		"server": {"limit": "30", "factor": "1.05", "baseDelay": "100ms", "address": `"127.0.0.1:8070"`},
	} {
		help, err := exec.Command(programs+"/"+program, "-h").CombinedOutput()
		require.NoError(t, err)
		for name, want := range flags {
			assert.Regexp(t, `(?m)^  -`+name+` .*\n.*\(default `+want+`\)$`, string(help))
		}
	}
	for _, wrong := range []string{"client -clients 0", "client -exponential-backoff -factor 0.5", "client now", "server -factor 0.9", "server -address 8070"} {
		words := strings.Fields(wrong)
		out, err := exec.Command(programs+"/"+words[0], words[1:]...).CombinedOutput()
		require.Error(t, err, wrong)
		assert.Regexp(t, `^`+words[0]+`: .*\n$`, string(out), wrong)
	}
}
