package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/e2e/internal/program"
)

// haproxyConfig has the settings of haproxy that differ between tests.
type haproxyConfig struct {
	// Rate is the most requests of a sliding second, refused requests included; 0: no limit.
	Rate int
	// Workers is how many requests the server behind gets at a time; the other requests wait,
	// first come, first served. 0: no bound.
	Workers int

	// Balance chooses among several servers; "": each has its turn.
	Balance string

	// Listen and Upstreams are addresses.
	Listen    string
	Upstreams []string
}

// startHAProxy starts haproxy in front of the upstream addresses, and returns its own.
func startHAProxy(t *testing.T, c haproxyConfig, upstreams ...string) string {
	t.Helper()
	binary := program.Path(t, "haproxy", "haproxy")
	c.Listen, c.Upstreams = program.Address(t), upstreams
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, haproxyConf.Execute(f, c))
	require.NoError(t, f.Close())
	listening(t, c.Listen, startServer(t, binary, "-db", "-f", path))
	return c.Listen
}

// startServer starts a server that does not read its standard input. A shell reads it and ends
// the server when the input ends.
func startServer(t *testing.T, args ...string) *process {
	t.Helper()
	return startProcess(t, exec.Command("sh", append([]string{"-c", `"$@" & read -r end; kill "$!"; wait "$!"`, "sh"}, args...)...))
}

var haproxyConf = template.Must(template.New("haproxy").Parse(`
global
  maxconn 8192
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  timeout queue 60s
  # Where the server behind is gone, 503 at once.
  retries 0
frontend api
  bind {{.Listen}}
  {{if .Rate}}stick-table type ip size 1k expire 30s store http_req_rate(1s)
  http-request track-sc0 src
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt {{.Rate}} }{{end}}
  default_backend behind
{{if .Balance}}  balance {{.Balance}}
{{end}}backend behind
{{if .Balance}}  balance {{.Balance}}
{{end}}{{range $i, $u := .Upstreams}}  server s{{$i}} {{$u}}{{if $.Workers}} maxconn {{$.Workers}}{{end}}
{{end}}`))
