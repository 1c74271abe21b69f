package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
	status, err := os.ReadFile(p.child(t) + "/status")
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

// child is the folder in /proc of the program that the shell of server started.
func (p *process) child(t *testing.T) string {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.cmd.Process.Pid))
	require.NoError(t, err)
	return "/proc/" + strings.Fields(string(children))[0]
}

// cpu is the time for which its threads ran, in nanoseconds.
func (p *process) cpu(t *testing.T) (ns float64) {
	threads, err := filepath.Glob(p.child(t) + "/task/*/schedstat")
	require.NoError(t, err)
	for _, thread := range threads {
		text, _ := os.ReadFile(thread) // it may have ended
		var ran float64
		_, _ = fmt.Sscan(string(text), &ran)
		ns += ran
	}
	require.Positive(t, ns, "no schedstat in /proc")
	return ns
}

// The CPU of a request through the proxy, over that through a bare ReverseProxy: the least of several turns, since other work on
// the machine only adds. 1 MiB is above the 1.3 of the others: it is kept before it is sent, so the kernel copies from memory
// that has left the processor's cache. With fresh memory for each body it is 2.85, and 64 KiB 2.1. One that is not kept, by
// --buffer, is 1.1. Parts, reads and writes of 64 and 128 KiB change nothing.
func TestTheProxyCostsLittleMoreThanABareOne(t *testing.T) {
	sizes := []int{0, 1 << 10, 64 << 10, 1 << 20}
	counts := []int{600, 600, 300, 60}
	most := amount([]float64{1.3, 1.3, 1.3, 1.6}, []float64{1.6, 1.6, 1.6, 2.4})
	attempt(t, func(t *testing.T) (good bool) {
		begin(t)
		b := (&backend{}).serve(t)
		start := func(form ...string) (url string, p *process) {
			address := program.Address(t)
			for i, arg := range form {
				form[i] = strings.NewReplacer("LISTEN", address, "TO", "http://"+b.address).Replace(arg)
			}
			return "http://" + address + "/", startProcess(t, server("TERM", form...)).listening(t, address)
		}
		bare, plain := start(bareProxy(t), "LISTEN", "TO")
		ours, p := start(aimdProxy(t), "--listen", "LISTEN", "--to", "TO", "--drain-delay", "0")
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
		defer client.CloseIdleConnections()
		cost := func(p *process, url string, size, n int) float64 {
			body, before := make([]byte, size), p.cpu(t)
			together(8, n, func(int) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(body))
				if !assert.NoError(t, err) {
					return
				}
				resp, err := client.Do(req)
				if assert.NoError(t, err) {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					assert.Equal(t, http.StatusOK, resp.StatusCode)
				}
			})
			return (p.cpu(t) - before) / float64(n)
		}
		good = true
		for i, size := range sizes {
			least, of := math.Inf(1), math.Inf(1)
			for range amount(20, 8) {
				of = min(of, cost(plain, bare, size, counts[i]))
				least = min(least, cost(p, ours, size, counts[i]))
			}
			figures.log(t, "%d KiB: %.0f us, %.2f of a bare one", size>>10, least/1e3, least/of)
			good = good && least/of <= most[i]
		}
		return good
	})
}
