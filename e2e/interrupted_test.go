//go:build unix

package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/versity/versitygw/backend/posix"
)

const (
	smallFiles, largeFiles = 40, 2
	// largeSize is three parts of the least size that there is.
	largeSize, partSize = 3 * 5 << 20, "5MiB"
)

var interruptions = amount(10, 5)

// uploads is a directory, a store, and aimd upload between them.
type uploads struct {
	dir     string
	gateway *gateway
	store   *s3.Client
	names   []string
}

func newUploads(ctx context.Context, t *testing.T) *uploads {
	t.Helper()
	u := &uploads{dir: t.TempDir(), gateway: startGateway(t, slots)}
	u.store = steward(ctx, t, u.gateway.address)
	for i := range smallFiles + largeFiles {
		size := 1 << 10
		if i >= smallFiles {
			size = largeSize
		}
		// The large ones come between the others.
		name := fmt.Sprintf("%02d", i*17%(smallFiles+largeFiles))
		require.NoError(t, os.WriteFile(filepath.Join(u.dir, name), body(i, size), 0o600))
		u.names = append(u.names, name)
	}
	return u
}

// command uploads below the prefix what the list has, and writes there what is not done.
func (u *uploads) command(t *testing.T, prefix, list string, before ...string) *exec.Cmd {
	t.Helper()
	args := append(before, aimdBinary.path(t), "upload", u.dir, "s3://"+bucket+"/"+prefix, "--endpoint", "http://"+u.gateway.address,
		"--from", list, "--failed", list, "--json", "--part-size", partSize, "--threshold", partSize, "--max-window", "16")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	return cmd
}

// list writes a list of all files.
func (u *uploads) list(t *testing.T) string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "list")
	var all strings.Builder
	for _, name := range u.names {
		all.WriteString(filepath.Join(u.dir, name) + "\x00")
	}
	require.NoError(t, os.WriteFile(list, []byte(all.String()), 0o600))
	return list
}

// requireNothingLost wants each file in the store, as it is, or in the list.
func (u *uploads) requireNothingLost(ctx context.Context, t *testing.T, prefix, list string) (stored int) {
	t.Helper()
	sizes := map[string]int64{}
	page, err := u.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String(prefix + "/")})
	require.NoError(t, err)
	for _, o := range page.Contents {
		sizes[*o.Key] = *o.Size
	}
	content, err := os.ReadFile(list)
	require.NoError(t, err)
	left := strings.Split(string(content), "\x00")
	for _, name := range u.names {
		path := filepath.Join(u.dir, name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		if sizes[prefix+"/"+name] == info.Size() {
			stored++
		} else {
			require.Contains(t, left, path, "neither in the store nor in the list")
		}
	}
	return stored
}

// incomplete are the uploads in parts below the prefix that the store has on disk: it
// does not list one that a part made once more after an abort.
func (u *uploads) incomplete(t *testing.T, prefix string) (ids []string) {
	t.Helper()
	for _, name := range u.names {
		key := fmt.Sprintf("%x", sha256.Sum256([]byte(prefix+"/"+name)))
		entries, err := os.ReadDir(filepath.Join(u.gateway.dir, bucket, posix.MetaTmpMultipartDir, key))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
		}
		for _, e := range entries {
			if e.IsDir() {
				ids = append(ids, e.Name())
			}
		}
	}
	return ids
}

// Wherever a run is stopped, no file is lost, and no part is left that is not named:
// by itself, or by the next one if it was killed.
func TestInterruptedUploads(t *testing.T) {
	ctx := begin(t)
	u := newUploads(ctx, t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			before, parts := 0, 0
			for i := range interruptions {
				prefix, list := fmt.Sprintf("%d-%d", s, i), u.list(t)
				p := startProcess(t, u.command(t, prefix, list))
				time.Sleep(100*time.Millisecond + time.Duration(i)*40*time.Millisecond)
				_ = p.cmd.Process.Signal(s) // it may be done by now
				p.stop()
				before += u.requireNothingLost(ctx, t, prefix, list)
				left := u.incomplete(t, prefix)
				if s == syscall.SIGINT {
					assert.Contains(t, []int{0, 130}, p.cmd.ProcessState.ExitCode(), "%v", &p.output)
					requireNamed(t, left, p)
				}
				parts += len(left)

				again := startProcess(t, u.command(t, prefix, list))
				again.stop()
				require.Zero(t, again.cmd.ProcessState.ExitCode(), "%v", &again.output)
				require.Equal(t, len(u.names), u.requireNothingLost(ctx, t, prefix, list))
				requireNamed(t, u.incomplete(t, prefix), p, again)
			}
			figures.log(t, "%d runs: %.0f%% of the files stored when stopped, %d uploads left in parts",
				interruptions, 100*float64(before)/float64(interruptions*len(u.names)), parts)
		})
	}
}

// requireNamed wants each ID named on standard error, and in the summary.
func requireNamed(t *testing.T, ids []string, by ...*process) {
	t.Helper()
	all := ""
	for _, p := range by {
		all += p.output.String()
	}
	for _, id := range ids {
		require.Contains(t, all, "(upload "+id+")")
		require.Contains(t, all, `"upload_id":"`+id+`"`)
	}
}

// A store that hangs holds nobody who wants to go: the first signal tells what it
// waits for, the second ends it, also where SIGINT was ignored at the start.
func TestInterruptedWhileTheStoreHangs(t *testing.T) {
	ctx := begin(t)
	u := newUploads(ctx, t)
	list := u.list(t)
	p := startProcess(t, u.command(t, "hung", list, "sh", "-c", `trap "" INT; exec "$0" "$@"`))
	eventually(t, 20*time.Second, func() bool { return len(u.incomplete(t, "hung")) > 0 }, "nothing goes in parts")
	u.gateway.signal(t, syscall.SIGSTOP)
	defer u.gateway.signal(t, syscall.SIGCONT)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	eventually(t, 8*time.Second, func() bool { return strings.Contains(p.output.String(), "stopped; waiting for the store") }, "it does not say what it waits for")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	began := time.Now()
	p.stop()
	assert.Less(t, time.Since(began), 3*time.Second)
	assert.Equal(t, 130, p.cmd.ProcessState.ExitCode())
	content, err := os.ReadFile(list)
	require.NoError(t, err)
	assert.Equal(t, len(u.names), strings.Count(string(content), "\x00"), "the old list")
}

// "aimd upload --json | head -1" ends with an exit status, and leaves no parts.
func TestUploadWhoseReaderGoes(t *testing.T) {
	ctx := begin(t)
	u := newUploads(ctx, t)
	list := u.list(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := startProcessTo(t, u.command(t, "head", list), w)
	require.NoError(t, w.Close())
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, `"status":"uploaded"`)
	require.NoError(t, r.Close())
	p.stop()
	assert.Equal(t, 1, p.cmd.ProcessState.ExitCode())
	assert.Contains(t, p.output.String(), "broken pipe")
	u.requireNothingLost(ctx, t, "head", list)
	assert.Empty(t, u.incomplete(t, "head"))
}
