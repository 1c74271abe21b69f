package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// configure writes a configuration.
func configure(t *testing.T, path string, form *template.Template, settings any) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, form.Execute(f, settings))
	require.NoError(t, f.Close())
}

// haproxy has the settings of haproxy that differ between tests.
type haproxy struct {
	// Rate is the most requests of a sliding second, refused requests included; 0: no limit.
	Rate int
	// Checks are the addresses whose /healthz is asked each second, one for each upstream; two failures take an
	// upstream out. Without them nobody asks.
	Checks []string

	// Listen and Upstreams are addresses.
	Listen    string
	Upstreams []string
}

func (h haproxy) front(t *testing.T, upstreams ...string) string {
	t.Helper()
	h.Listen, h.Upstreams = program.Address(t), upstreams
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	configure(t, path, haproxyForm, h)
	startProcess(t, server("TERM", program.Path(t, "haproxy", "haproxy"), "-db", "-f", path)).listening(t, h.Listen)
	return h.Listen
}

func host(address string) (string, error) { h, _, err := net.SplitHostPort(address); return h, err }
func port(address string) (string, error) { _, p, err := net.SplitHostPort(address); return p, err }

var haproxyForm = template.Must(template.New("haproxy").Funcs(template.FuncMap{"host": host, "port": port}).Parse(`
global
  maxconn 8192
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
frontend api
  bind {{.Listen}}
{{if .Rate}}  stick-table type ip size 1k expire 30s store http_req_rate(1s)
  http-request track-sc0 src
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt {{.Rate}} }
{{end}}  default_backend behind
backend behind
{{if .Checks}}  retries 0
  option httpchk GET /healthz
{{end}}{{range $i, $u := .Upstreams}}  server s{{$i}} {{$u}}{{if $.Checks}} check addr {{host (index $.Checks $i)}} port {{port (index $.Checks $i)}} inter 1s fall 2{{end}}
{{end}}`))

// nginx has the settings of nginx that differ between tests.
type nginx struct {
	// Cap is limit_conn, in connections with a request; 0: no cap.
	Cap int
	// Rate is limit_req as it comes, in requests per second: it refuses with 503, without a Retry-After. 0: no limit.
	Rate int
	// BytesPerSecond is limit_rate; 0: no limit.
	BytesPerSecond int

	// Listen and Upstreams are addresses. Root: started by root.
	Listen    string
	Upstreams []string
	Root      bool

	dir     string
	process *process
}

// start starts a master and a worker process.
func (n nginx) start(t *testing.T, upstreams ...string) *nginx {
	t.Helper()
	n.Listen, n.Upstreams, n.Root, n.dir = program.Address(t), upstreams, os.Geteuid() == 0, t.TempDir()
	for _, d := range []string{"logs", "run"} {
		require.NoError(t, os.Mkdir(filepath.Join(n.dir, d), 0o755))
	}
	configure(t, n.path("nginx.conf"), nginxForm, n)
	n.process = startProcess(t, server("TERM", program.Path(t, "nginx", "nginx-light"), "-e", "logs/error.log", "-p", n.dir+"/", "-c", n.path("nginx.conf")))
	n.process.listening(t, n.Listen)
	return &n
}

func (n *nginx) path(elements ...string) string {
	return filepath.Join(n.dir, filepath.Join(elements...))
}

func (n *nginx) read(t *testing.T, elements ...string) string {
	t.Helper()
	b, err := os.ReadFile(n.path(elements...))
	require.NoError(t, err)
	return string(b)
}

// requireStatuses stops nginx, and checks the client's own counts against those of nginx's log.
func (n *nginx) requireStatuses(t *testing.T, want map[string]int) {
	t.Helper()
	n.process.stop()
	got := map[string]int{}
	for status := range strings.FieldsSeq(n.read(t, "logs", "access.log")) {
		got[status]++
	}
	for status, n := range want {
		require.Equal(t, n, got[status], "answers %s of %v", status, got)
	}
}

var nginxForm = template.Must(template.New("nginx").Parse(fmt.Sprintf(`
daemon off; worker_processes 1; {{if .Root}}user root;{{end}}
worker_shutdown_timeout 5s; pid run/nginx.pid; error_log logs/error.log notice;
events { worker_connections 4096; }
http {
  log_format status '$status';
  access_log logs/access.log status;
  client_body_temp_path run/body; proxy_temp_path run/proxy; fastcgi_temp_path run/f; uwsgi_temp_path run/u; scgi_temp_path run/s;
  client_max_body_size 0; client_body_buffer_size 256k; keepalive_requests 1000000;
  upstream s3 { {{range .Upstreams}}server {{.}}; {{end}}keepalive 512; }
  # The signature covers the host.
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
  limit_conn_zone $server_name zone=conc:1m;
  {{if .Rate}}limit_req_zone $server_name zone=rate:1m rate={{.Rate}}r/s;{{end}}
  server {
    listen {{.Listen}} backlog=2048; server_name store;
    location / {
      {{if .Cap}}limit_conn conc {{.Cap}}; limit_conn_status 503; error_page 503 @slow;{{end}}
      {{if .Rate}}limit_req zone=rate;{{end}}
      # Small buffers, or all of a small body is sent at once.
      {{if .BytesPerSecond}}limit_rate {{.BytesPerSecond}}; proxy_buffer_size 4k; proxy_buffers 4 4k; proxy_busy_buffers_size 8k;{{end}}
      proxy_pass http://s3;
    }
    location @slow { internal; default_type application/xml; return 503 '%s'; }
  }
}
`, slowDown)))

const slowDown = `<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`
