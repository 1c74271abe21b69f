//go:build unix

package e2e

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tools of others, from the module proof/peers, which go.work does not have.
var (
	rcloneTool = built("../peers/rclone")
	mcTool     = built("../peers", "github.com/minio/mc")
)

// peer is a tool that uploads a folder, as it comes.
type peer struct {
	name string
	// upload is the command that uploads the folder below a prefix of the bucket of the store at the URL; nil: the tool is not
	// there.
	upload func(t *testing.T, dir, prefix, url string) *exec.Cmd
}

func peers() []peer {
	all := []peer{
		{"aimd", func(t *testing.T, dir, prefix, url string) *exec.Cmd {
			return uploadCommand(t, dir, prefix, url, "--quiet")
		}},
		{"s5cmd", nil},
		{"rclone", func(t *testing.T, dir, prefix, url string) *exec.Cmd { return rclone(t, dir, prefix, url) }},
		{"mc", func(t *testing.T, dir, prefix, url string) *exec.Cmd {
			cmd := exec.Command(mcTool(t), "--config-dir", t.TempDir(), "cp", "--quiet", "--recursive", dir+"/", "peer/"+bucket+"/"+prefix+"/")
			cmd.Env = append(os.Environ(), "MC_HOST_peer="+strings.Replace(url, "//", "//"+accessKey+":"+secretKey+"@", 1))
			return cmd
		}},
	}
	// Go's module proxy does not have s5cmd.
	if path := os.Getenv("S5CMD"); path != "" {
		all[1].upload = func(t *testing.T, dir, prefix, url string) *exec.Cmd {
			cmd := exec.Command(path, "--endpoint-url", url, "cp", dir+"/", "s3://"+bucket+"/"+prefix+"/")
			cmd.Env = credentialsOnly()
			return cmd
		}
	}
	return all
}

// rclone is its command that copies a folder to the store.
func rclone(t *testing.T, dir, prefix, url string, flags ...string) *exec.Cmd {
	t.Helper()
	args := append([]string{"copy", dir, ":s3:" + bucket + "/" + prefix, "--s3-provider", "Other", "--s3-endpoint", url, "--s3-env-auth", "--s3-region", "us-east-1", "--quiet"}, flags...)
	cmd := exec.Command(rcloneTool(t), args...)
	cmd.Env = append(credentialsOnly(), "RCLONE_CONFIG="+os.DevNull)
	return cmd
}

// job is what is uploaded to which store.
type job struct {
	name        string
	files, size int
	slots       int
	service     time.Duration
	// tls is with an encrypted connection, as the stores of others have it. Over it the AWS SDK does not sign what it sends, which
	// costs a SHA-256 at both ends.
	tls bool
}

// aimd upload beside the tools that people would use in its place, as they come, in turn. In earnest it takes at most 1.15
// times as long as the best that loses nothing.
func TestPeers(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	rounds := amount(5, 1)
	for _, j := range []job{
		{name: "takes 32, 100 ms", files: amount(2000, 300), size: 64 * kib, slots: 32, service: service},
		{name: "takes 8, 100 ms", files: amount(600, 100), size: 64 * kib, slots: 8, service: service},
		{name: "takes 2, 100 ms", files: amount(200, 30), size: 64 * kib, slots: 2, service: service},
		{name: "takes all, 100 ms", files: amount(2000, 300), size: 64 * kib, slots: noCap, service: service},
		{name: "takes all, at once", files: amount(5000, 300), size: 4 * kib, slots: noCap},
		{name: "takes all, at once", files: amount(200, 20), size: mib, slots: noCap},
		{name: "takes all, at once", files: amount(4, 1), size: 64 * mib, slots: noCap},
		{name: "takes all, at once, TLS", files: amount(5000, 300), size: 4 * kib, slots: noCap, tls: true},
		{name: "takes all, at once, TLS", files: amount(200, 20), size: mib, slots: noCap, tls: true},
		{name: "takes all, at once, TLS", files: amount(4, 1), size: 64 * mib, slots: noCap, tls: true},
	} {
		t.Run(fmt.Sprintf("%d of %d KiB, %s", j.files, j.size/kib, j.name), func(t *testing.T) {
			dir := t.TempDir()
			for i := range j.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d", i)), body(i, j.size), 0o600))
			}
			took, lost, memory := map[string][]float64{}, map[string]int{}, map[string]int64{}
			for round := range rounds {
				all := peers()
				for i := range all {
					p := all[(round+i)%len(all)]
					if p.upload == nil {
						continue
					}
					seconds, missing, most := j.run(t, p, dir)
					took[p.name] = append(took[p.name], seconds)
					lost[p.name] += missing
					memory[p.name] = max(memory[p.name], most)
				}
			}
			require.Zero(t, lost["aimd"])
			ours, best, cells := median(took["aimd"]), math.Inf(1), []string{}
			for _, p := range peers() {
				if p.upload == nil {
					cells = append(cells, p.name+" not run")
					continue
				}
				m := median(took[p.name])
				cell := fmt.Sprintf("%s %.2f, %d MB", p.name, m/ours, memory[p.name]>>20)
				if p.name == "aimd" {
					cell = fmt.Sprintf("aimd %.2f s, %d MB", ours, memory[p.name]>>20)
				}
				if lost[p.name] > 0 {
					cell += fmt.Sprintf(", lost %d", lost[p.name])
				} else {
					best = min(best, m)
				}
				cells = append(cells, cell)
			}
			figures.log(t, "%s", strings.Join(cells, "; "))
			if earnest() {
				assert.LessOrEqual(t, ours/best, 1.15)
			}
		})
	}
}

// run uploads the folder to a new store. It returns the seconds, the files that the store does not have, and the most
// memory in bytes.
func (j job) run(t *testing.T, p peer, dir string) (seconds float64, missing int, memory int64) {
	t.Helper()
	scheme, flags, trusted := "http://", []string{}, ""
	if j.tls {
		cert, key := certificate(t)
		scheme, flags, trusted = "https://", []string{"-cert", cert, "-key", key}, cert
	}
	g := startSlowGateway(t, j.slots, j.service, flags...)
	defer g.process.stop()
	require.NoError(t, os.Mkdir(filepath.Join(g.dir, bucket), 0o755))
	cmd := p.upload(t, dir, "p", scheme+g.address)
	if j.tls {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+trusted, "AWS_CA_BUNDLE="+trusted)
	}
	began := time.Now()
	process := startProcess(t, cmd)
	ended := make(chan error, 1)
	go func() { ended <- process.cmd.Wait() }()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
			memory = max(memory, peak(process.cmd.Process.Pid))
			if time.Since(began) > 3*time.Minute {
				_ = process.send(syscall.SIGKILL)
			}
		}
	}
	seconds = time.Since(began).Seconds()
	process.stop()
	for i := range j.files {
		name := fmt.Sprintf("%05d", i)
		b, err := os.ReadFile(filepath.Join(g.dir, bucket, "p", name))
		if err != nil {
			missing++
		} else {
			require.Equal(t, sum(body(i, j.size)), sum(b), "%s of %s", name, p.name)
		}
	}
	require.NoError(t, os.RemoveAll(g.dir))
	return seconds, missing, memory
}

// certificate is a certificate for 127.0.0.1 that is its own authority, and its key, in files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// peak is the most memory that the process had, in bytes. (That in its state at the end counts the test's own.)
func peak(pid int) (kib int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	if _, text, found := strings.Cut(string(status), "VmHWM:"); found {
		_, _ = fmt.Sscan(text, &kib)
	}
	return kib << 10
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// rclone and its like through aimd proxy, with more at a time than the store takes: nobody tells them the number.
func TestRcloneThroughTheProxy(t *testing.T) {
	beside(t)
	ctx := begin(t)
	files, dir := amount(1000, 200), t.TempDir()
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d", i)), body(i, objectSize), 0o600))
	}
	for _, through := range []bool{false, true} {
		g := startGateway(t, 16)
		steward(ctx, t, g.address)
		address := g.address
		if through {
			address = startGuard(t, g.address, "--keep-host").address
		}
		began := time.Now()
		out, err := rclone(t, dir, "p", "http://"+address, "--transfers", "64", "--checkers", "64", "--retries", "1").CombinedOutput()
		stored := 0
		for i := range files {
			if b, err := os.ReadFile(filepath.Join(g.dir, bucket, "p", fmt.Sprintf("%05d", i))); err == nil && sum(b) == sum(body(i, objectSize)) {
				stored++
			}
		}
		figures.log(t, "through the proxy %v: %d of %d files in %v, %.2f times the optimum", through, stored, files, time.Since(began).Round(10*time.Millisecond),
			time.Since(began).Seconds()/cmp.Or(g.counts(t).optimum(files, 16).Seconds(), 1))
		if through {
			require.NoError(t, err, "%s", out)
			require.Equal(t, files, stored)
		}
	}
}
