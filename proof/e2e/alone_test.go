package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// The proxy as a program of its own is small enough for a container beside each program: at most 16 MB without its tables for a
// debugger, and 16 MB of memory before the first request.
func TestTheProxyAlone(t *testing.T) {
	ctx := begin(t)
	path := filepath.Join(t.TempDir(), "aimd-proxy")
	out, err := exec.CommandContext(ctx, "go", "build", "-C", "../../cmd/aimd", "-ldflags", "-s -w", "-o", path, "./aimd-proxy").CombinedOutput()
	require.NoError(t, err, "%s", out)
	size, err := os.Stat(path)
	require.NoError(t, err)
	b := (&backend{}).serve(t)
	address, admin := program.Address(t), program.Address(t)
	p := startProcess(t, server("TERM", path, "--to", "http://"+b.address, "--listen", address, "--admin", admin, "--drain-delay", "0")).listening(t, address)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.cmd.Process.Pid)) // of the shell
	require.NoError(t, err)
	status, err := os.ReadFile("/proc/" + strings.Fields(string(children))[0] + "/status")
	require.NoError(t, err)
	used := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, used)
	kB, err := strconv.Atoi(string(used[1]))
	require.NoError(t, err)
	figures.log(t, "%.1f MB, %.1f MB of memory", float64(size.Size())/1e6, float64(kB)*1024/1e6)
	require.LessOrEqual(t, size.Size(), int64(16e6))
	require.LessOrEqual(t, kB*1024, int(16e6))
	for _, url := range []string{"http://" + address + "/", "http://" + admin + "/metrics"} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(url)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
}
