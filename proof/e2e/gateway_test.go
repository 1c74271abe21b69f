package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

const (
	accessKey = "e2e"
	secretKey = "e2e-secret-key"
	// service is the mean service time of an upload, within 20% either way.
	service = 100 * time.Millisecond
	// noCap is for a gateway behind a proxy that refuses.
	noCap = 4096
)

// gateway is versitygw as a process of its own, see cmd/slowgw.
type gateway struct {
	address, control string
	// dir has a directory for each bucket, and in it a file for each object.
	dir     string
	args    []string
	process *process
}

func startGateway(t *testing.T, slots int) *gateway {
	t.Helper()
	return startSlowGateway(t, slots, service)
}

// startSlowGateway starts a gateway with another service time, and with more flags.
func startSlowGateway(t *testing.T, slots int, service time.Duration, flags ...string) *gateway {
	t.Helper()
	g := &gateway{address: program.Address(t), control: program.Address(t), dir: filepath.Join(t.TempDir(), "objects")}
	require.NoError(t, os.Mkdir(g.dir, 0o755))
	g.args = append([]string{
		slowgw(t), "-listen", g.address, "-control", g.control, "-dir", g.dir, "-cap", strconv.Itoa(slots),
		"-service", service.String(), "-access", accessKey, "-secret", secretKey,
	}, flags...)
	g.start(t)
	return g
}

// start starts the gateway, also once more after a kill, with the same objects.
func (g *gateway) start(t *testing.T) {
	t.Helper()
	g.process = startProcess(t, server("TERM", g.args...)).listening(t, g.address).listening(t, g.control)
}

// files are the objects as they are on disk, keys and MD5 sums.
func (g *gateway) files(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(g.dir, bucket))
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			b, err := os.ReadFile(filepath.Join(g.dir, bucket, e.Name()))
			require.NoError(t, err)
			all[e.Name()] = sum(b)
		}
	}
	return all
}

// counts are the requests that the gateway served, without refused ones.
type counts struct {
	Served int           `json:"served"`
	Busy   time.Duration `json:"busy"`
}

// mean is the mean service time.
func (c counts) mean() time.Duration { return c.Busy / time.Duration(max(1, c.Served)) }

// optimum is the shortest time for n uploads, slots at a time.
func (c counts) optimum(uploads, slots int) time.Duration {
	return c.mean() * time.Duration(uploads) / time.Duration(slots)
}

// counts asks the gateway.
func (g *gateway) counts(t *testing.T) (c counts) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + g.control + "/counts")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&c))
	return c
}
