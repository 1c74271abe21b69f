//go:build unix

package proxy

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// What was switched to another protocol is in flight, too: --drain is for it.
func TestASwitchedConnectionMayGoOn(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(c, rw)
		}
	}))
	defer target.Close()
	for drain, want := range map[string]int{"1ms": cli.Failed, "1h": 0} {
		url, logged, end := start(t, "--to", target.URL, "--drain", drain)
		c := said(t, url, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, " 101 ")
		ended := make(chan int, 1)
		go func() { ended <- end() }()
		assert.Contains(t, logged("stopping"), drain)
		if want == 0 {
			require.NoError(t, c.Close())
		}
		assert.Equal(t, want, <-ended, drain)
	}
}

// A pipe held the start, and each SIGHUP, until somebody wrote to it: no window was saved meanwhile, and SIGTERM did not
// end the proxy.
func TestRulesAreNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, flag := range []string{"--rules", "--answers"} {
		_, _, end := start(t, "--to", "http://127.0.0.1:1", flag, pipe)
		assert.Equal(t, cli.Failed, end(), flag)

		path := filepath.Join(t.TempDir(), "rules")
		require.NoError(t, os.WriteFile(path, []byte(`{"format": 1, "version": 1}`), 0o600))
		if flag == "--answers" {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		_, logged, end := start(t, "--to", "http://127.0.0.1:1", "--drain-delay", "0", flag, path)
		require.NoError(t, os.Rename(pipe, path))
		require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP))
		assert.Contains(t, logged("bad"), "want a regular file", flag)
		assert.Zero(t, end(), flag)
		require.NoError(t, os.Rename(path, pipe))
	}
}

// What net/http says of a service that sends more than its answer was no line of the proxy's log.
func TestLogsOfTheStandardLibraryAreLogs(t *testing.T) {
	_, logged, end := start(t, "--to", "http://127.0.0.1:1", "--json")
	log.Print("Unsolicited response")
	assert.Zero(t, end())
	assert.Contains(t, logged("Unsolicited"), `"msg":"Unsolicited response"`)
}
