package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/e2e/internal/program"
)

// proxy is nginx in front of a gateway: a master and a worker process.
type proxy struct {
	address string
	dir     string
	config  proxyConfig
	process *process
}

// proxyConfig has the settings of nginx that differ between tests.
type proxyConfig struct {
	// Cap is limit_conn, in connections with a request; 0: no cap.
	Cap int
	// Rate is limit_req, in requests per second, with a burst and a Retry-After in seconds; 0: no
	// limit.
	Rate, Burst, RetryAfter int
	// BytesPerSecond is limit_rate; 0: no limit.
	BytesPerSecond int

	// Listen and Upstream are addresses. Root: started by root.
	Listen, Upstream string
	Root             bool
}

// startNginx starts nginx in front of the upstream address.
func startNginx(t *testing.T, upstream string, c proxyConfig) *proxy {
	t.Helper()
	binary := program.Path(t, "nginx", "nginx-light")
	c.Listen, c.Upstream, c.Root = program.Address(t), upstream, os.Geteuid() == 0
	p := &proxy{address: c.Listen, dir: t.TempDir(), config: c}
	for _, d := range []string{"logs", "run"} {
		require.NoError(t, os.Mkdir(filepath.Join(p.dir, d), 0o755))
	}
	p.write(t)
	p.process = startServer(t, binary, "-e", "logs/error.log", "-p", p.dir+"/", "-c", p.path())
	listening(t, p.address, p.process)
	return p
}

func (p *proxy) path() string { return filepath.Join(p.dir, "nginx.conf") }

func (p *proxy) write(t *testing.T) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, nginxConf.Execute(&b, p.config))
	require.NoError(t, os.WriteFile(p.path(), b.Bytes(), 0o644))
}

// setCap changes the cap while nginx runs, and returns once its new worker is there.
func (p *proxy) setCap(t *testing.T, slots int) {
	t.Helper()
	p.config.Cap = slots
	p.write(t)
	pid, err := os.ReadFile(filepath.Join(p.dir, "run", "nginx.pid"))
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	require.NoError(t, err)
	workers := strings.Count(p.errorLog(t), "start worker process ")
	require.NoError(t, syscall.Kill(n, syscall.SIGHUP))
	eventually(t, func() bool {
		return strings.Count(p.errorLog(t), "start worker process ") > workers
	}, "no new worker")
}

func (p *proxy) errorLog(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "logs", "error.log"))
	require.NoError(t, err)
	return string(b)
}

// statuses stops nginx, and counts the answers of its log by their status.
func (p *proxy) statuses(t *testing.T) map[string]int {
	t.Helper()
	p.process.stop()
	b, err := os.ReadFile(filepath.Join(p.dir, "logs", "access.log"))
	require.NoError(t, err)
	n := map[string]int{}
	for status := range strings.FieldsSeq(string(b)) {
		n[status]++
	}
	return n
}

// requireStatuses checks the client's own counts against nginx's.
func (p *proxy) requireStatuses(t *testing.T, want map[string]int) {
	t.Helper()
	got := p.statuses(t)
	for status, n := range want {
		require.Equal(t, n, got[status], "answers %s of %v", status, got)
	}
}

var nginxConf = template.Must(template.New("nginx").Parse(fmt.Sprintf(`
daemon off; worker_processes 1; {{if .Root}}user root;{{end}}
worker_shutdown_timeout 5s; pid run/nginx.pid; error_log logs/error.log notice;
events { worker_connections 4096; }
http {
  log_format status '$status';
  access_log logs/access.log status;
  client_body_temp_path run/body; proxy_temp_path run/proxy; fastcgi_temp_path run/f; uwsgi_temp_path run/u; scgi_temp_path run/s;
  client_max_body_size 0; client_body_buffer_size 256k; keepalive_requests 1000000;
  upstream s3 { server {{.Upstream}}; keepalive 512; }
  # The signature covers the host.
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
  limit_conn_zone $server_name zone=conc:1m;
  {{if .Rate}}limit_req_zone $server_name zone=rate:1m rate={{.Rate}}r/s;{{end}}
  server {
    listen {{.Listen}} backlog=2048; server_name store;
    location / {
      {{if .Cap}}limit_conn conc {{.Cap}}; limit_conn_status 503; error_page 503 @slow;{{end}}
      {{if .Rate}}limit_req zone=rate{{if .Burst}} burst={{.Burst}} nodelay{{end}}; limit_req_status 429; error_page 429 @many;{{end}}
      # Small buffers, or all of a small body is sent at once.
      {{if .BytesPerSecond}}limit_rate {{.BytesPerSecond}}; proxy_buffer_size 4k; proxy_buffers 4 4k; proxy_busy_buffers_size 8k;{{end}}
      proxy_pass http://s3;
    }
    location @slow { internal; default_type application/xml; return 503 '%s'; }
    location @many { internal; default_type application/xml; {{if .RetryAfter}}add_header Retry-After {{.RetryAfter}} always;{{end}} return 429 '%s'; }
  }
}
`, slowDown, tooMany)))

const (
	slowDown = `<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`
	tooMany  = `<Error><Code>TooManyRequests</Code><Message>Please reduce your request rate.</Message></Error>`
)
