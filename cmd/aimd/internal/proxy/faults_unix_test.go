//go:build unix

package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		require.NoError(t, err)
		in := bufio.NewReader(c)
		line, err := in.ReadString('\n')
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
