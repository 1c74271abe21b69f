//go:build unix

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// What people install who have no Go: each package is installed, or unpacked, and its program runs. In earnest all
// platforms are built.
func TestPackages(t *testing.T) {
	beside(t)
	ctx := begin(t)
	out := filepath.Join(t.TempDir(), "dist")
	host := runtime.GOOS + "/" + runtime.GOARCH
	dist := exec.CommandContext(ctx, "go", append([]string{"run", "-C", "../../release/dist", ".", "-out", out}, amount(nil, []string{host})...)...)
	dist.Env = append(os.Environ(), "GOWORK=off")
	output(t, dist)
	file := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(out, pattern))
		require.NoError(t, err)
		require.Len(t, found, 1, pattern)
		return found[0]
	}
	says := func(t *testing.T, path string) {
		assert.Regexp(t, `^aimd version \S+ \(go1\.\S+\)\n$`, output(t, exec.CommandContext(ctx, path, "--version")))
	}
	sums := exec.CommandContext(ctx, "sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = out
	assert.Equal(t, len(list(t, out))-1, strings.Count(output(t, sums), ": OK\n"))

	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		unpack(t, file("*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), dir)
		assert.ElementsMatch(t, []string{"LICENSE", "aimd"}, list(t, dir))
		says(t, filepath.Join(dir, "aimd"))
	})
	t.Run("modules", func(t *testing.T) {
		var bom struct {
			BOMFormat  string
			Components []struct{ PURL string }
		}
		parse(t, file("*_"+runtime.GOOS+"_"+runtime.GOARCH+".cdx.json"), &bom)
		assert.Equal(t, "CycloneDX", bom.BOMFormat)
		all := fmt.Sprint(bom.Components)
		for _, part := range []string{"pkg:golang/std@1.", "pkg:golang/github.com/aimd-go/aimd@v", "pkg:golang/github.com/aws/aws-sdk-go-v2@v1."} {
			assert.Contains(t, all, part)
		}
		assert.NotContains(t, all, "devel)")
	})
	t.Run("deb", func(t *testing.T) {
		dir := t.TempDir()
		output(t, exec.CommandContext(ctx, program.Path(t, "dpkg-deb", "dpkg"), "--extract", file("*_"+runtime.GOARCH+".deb"), dir))
		says(t, filepath.Join(dir, "usr/bin/aimd"))
	})
	t.Run("rpm", func(t *testing.T) {
		rpm := program.Path(t, "rpm", "rpm")
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		path := file("*." + arch + ".rpm")
		assert.Contains(t, output(t, exec.CommandContext(ctx, rpm, "--checksig", "--nosignature", path)), "digests OK")
		dir := t.TempDir()
		output(t, exec.CommandContext(ctx, "sh", "-c", `cd "$1" && rpm2archive - <"$0" | tar -xz`, path, dir))
		says(t, filepath.Join(dir, "usr/bin/aimd"))
	})
	t.Run("image", func(t *testing.T) { runImage(ctx, t, file("aimd-proxy_*_oci.tar")) })
	t.Run("npm", func(t *testing.T) {
		installed(ctx, t, file("aimd-go-aimd-*.tgz"), file("aimd-go-"+strings.Replace(runtime.GOOS+"-"+runtime.GOARCH, "amd64", "x64", 1)+"-*.tgz"))
	})
}

// installed has npm install the packages in an empty folder, without a registry, and runs the proxy.
func installed(ctx context.Context, t *testing.T, packages ...string) {
	began, dir := time.Now(), t.TempDir()
	install := exec.CommandContext(ctx, program.Path(t, "npm", "npm"), append([]string{"install", "--offline", "--no-audit", "--no-fund"}, packages...)...)
	install.Dir = dir
	output(t, install)
	cmd := server("TERM", program.Path(t, "npx", "npm"), "--offline", "aimd", "proxy")
	cmd.Dir = dir
	proxied(t, cmd)
	figures.log(t, "npm install to the first 200: %v", time.Since(began).Round(100*time.Millisecond))
	assert.Less(t, time.Since(began), time.Minute)
}

// runImage unpacks the image's layer for this machine into a folder, and runs its entry point there: as root in a
// chroot, where nothing else is.
func runImage(ctx context.Context, t *testing.T, path string) {
	layout, root := t.TempDir(), t.TempDir()
	output(t, exec.CommandContext(ctx, "tar", "-xf", path, "-C", layout))
	type descriptor struct {
		Digest   string
		Platform struct{ OS, Architecture string }
	}
	blob := func(d descriptor) string {
		return filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1))
	}
	var index struct{ Manifests []descriptor }
	parse(t, filepath.Join(layout, "index.json"), &index)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	for _, m := range index.Manifests {
		if m.Platform.OS == "linux" && m.Platform.Architecture == runtime.GOARCH {
			parse(t, blob(m), &manifest)
		}
	}
	require.Len(t, manifest.Layers, 1)
	var config struct {
		Config struct{ Entrypoint []string }
	}
	parse(t, blob(manifest.Config), &config)
	unpack(t, blob(manifest.Layers[0]), root)
	size := int64(0)
	require.NoError(t, filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if info, e := d.Info(); e == nil && !d.IsDir() {
			size += info.Size()
		}
		return err
	}))
	figures.log(t, "the image has %.1f MB", float64(size)/1e6)
	assert.LessOrEqual(t, size, int64(18e6))
	trusted, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	require.NoError(t, err)
	assert.Greater(t, strings.Count(string(trusted), "BEGIN CERTIFICATE"), 100)

	args := []string{filepath.Join(root, config.Config.Entrypoint[0])}
	if os.Geteuid() == 0 {
		args = []string{"chroot", "--userspec=65532:65532", root, config.Config.Entrypoint[0]}
	}
	proxied(t, server("TERM", args...))
}

// proxied starts a proxy in front of a service, and waits for the first 200 through it.
func proxied(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer service.Close()
	address := program.Address(t)
	cmd.Args = append(cmd.Args, "--to", service.URL, "--listen", address, "--drain-delay", "0")
	p := startProcess(t, cmd).listening(t, address)
	resp, err := http.Get("http://" + address)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "hello", string(text))
	http.DefaultClient.CloseIdleConnections()
	_ = p.send(syscall.SIGTERM)
	p.stop()
}

// output is what a command writes that succeeds.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd, out)
	return string(out)
}

// list is the names of what a folder has.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func parse(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, to))
}

// unpack unpacks a compressed tar of files.
func unpack(t *testing.T, path, dir string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		to := filepath.Join(dir, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		b, err := io.ReadAll(files)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, b, os.FileMode(h.Mode)))
	}
}
