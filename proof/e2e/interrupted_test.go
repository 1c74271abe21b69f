//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// uploads is a directory, a store, and aimd upload between them.
type uploads struct {
	dir     string
	gateway *gateway
	names   []string
}

// newUploads makes a store, small files, and two of three parts of the least size that S3 allows among them.
func newUploads(ctx context.Context, t *testing.T) *uploads {
	t.Helper()
	u := &uploads{dir: t.TempDir(), gateway: startGateway(t, slots)}
	steward(ctx, t, u.gateway.address)
	for i := range 42 {
		name, size := fmt.Sprintf("%04d", i), 1<<10
		if i == 8 || i == 25 {
			size = 3 * 5 << 20
		}
		require.NoError(t, os.WriteFile(filepath.Join(u.dir, name), body(i, size), 0o600))
		u.names = append(u.names, name)
	}
	return u
}

// command uploads the directory below the prefix.
func (u *uploads) command(t *testing.T, prefix string) *exec.Cmd {
	t.Helper()
	return uploadCommand(t, u.dir, prefix, "http://"+u.gateway.address, "--part-size", "5MiB", "--max-window", "16")
}

// uploadCommand is aimd upload of a directory to the store at the address.
func uploadCommand(t *testing.T, dir, prefix, url string, flags ...string) *exec.Cmd {
	t.Helper()
	args := append([]string{"upload", dir, "s3://" + bucket + "/" + prefix, "--endpoint", url}, flags...)
	cmd := exec.Command(aimdTool(t), args...)
	cmd.Env = credentialsOnly()
	return cmd
}

// credentialsOnly is an environment with the credentials of the store, without the settings of the machine.
func credentialsOnly() []string {
	return append(os.Environ(), "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
}

// stored returns how many files the store has, and requires that their contents are equal.
func (u *uploads) stored(t *testing.T, prefix string) (n int) {
	t.Helper()
	for _, name := range u.names {
		got, err := os.ReadFile(filepath.Join(u.gateway.dir, bucket, prefix, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(u.dir, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s/%s", prefix, name)
		n++
	}
	return n
}

// arrived returns how many files the store has, without a look at their contents.
func (u *uploads) arrived(prefix string) int {
	found, _ := filepath.Glob(filepath.Join(u.gateway.dir, bucket, prefix, "*"))
	return len(found)
}

// said are the counts of a run's summary; 0 if the run ended before the first file.
func said(p *process) (stored, skipped, failed int) {
	if m := regexp.MustCompile(`(\d+) stored \(.*\), (\d+) skipped, (\d+) failed in `).FindStringSubmatch(p.output.String()); m != nil {
		stored, _ = strconv.Atoi(m[1])
		skipped, _ = strconv.Atoi(m[2])
		failed, _ = strconv.Atoi(m[3])
	}
	return stored, skipped, failed
}

// partsDir is where versitygw keeps parts in a bucket. Its package would link all of versitygw.
const partsDir = ".sgwtmp/multipart"

// incomplete are the uploads in parts below the prefix that the store has on disk: it
// does not list one that a part made once more after an abort.
func (u *uploads) incomplete(t *testing.T, prefix string) (ids []string) {
	t.Helper()
	for _, name := range u.names {
		key := fmt.Sprintf("%x", sha256.Sum256([]byte(prefix+"/"+name)))
		entries, err := os.ReadDir(filepath.Join(u.gateway.dir, bucket, partsDir, key))
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

// If a run is stopped at any point, the next run sends the missing files, and no others. Parts are left only by a
// run that was killed.
func TestInterruptedUploads(t *testing.T) {
	beside(t)
	ctx := begin(t)
	u := newUploads(ctx, t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			before, parts, interruptions := 0, 0, amount(10, 5)
			for i := range interruptions {
				prefix := fmt.Sprintf("%d-%d", s, i)
				p := startProcess(t, u.command(t, prefix))
				enough := 1 + i*(len(u.names)-4)/interruptions
				eventually(t, func() bool { return u.arrived(prefix) >= enough }, "%d files", enough)
				_ = p.cmd.Process.Signal(s) // it may be done by now
				p.stop()
				has, left := u.stored(t, prefix), u.incomplete(t, prefix)
				if s != syscall.SIGKILL {
					assert.Contains(t, []int{0, 130}, p.cmd.ProcessState.ExitCode(), "%v", &p.output)
					stored, _, _ := said(p)
					assert.Equal(t, has, stored, "%v", &p.output)
					assert.Empty(t, left, "%v", &p.output)
				}
				before, parts = before+has, parts+len(left)

				again := startProcess(t, u.command(t, prefix))
				again.stop()
				require.Zero(t, again.cmd.ProcessState.ExitCode(), "%v", &again.output)
				require.Equal(t, len(u.names), u.stored(t, prefix))
				// The store may have stored more of a killed run since.
				stored, skipped, failed := said(again)
				require.LessOrEqual(t, stored, len(u.names)-has, "%v", &again.output)
				require.Equal(t, len(u.names), stored+skipped)
				require.Zero(t, failed)
			}
			figures.log(t, "%d runs: %.0f%% of the files stored when stopped, %d uploads left in parts",
				interruptions, 100*float64(before)/float64(interruptions*len(u.names)), parts)
		})
	}
}

// If the store hangs, the first signal makes the run say that it stops, and the second signal ends the run,
// also if SIGINT was ignored at its start.
func TestInterruptedWhileTheStoreHangs(t *testing.T) {
	beside(t)
	ctx := begin(t)
	u := newUploads(ctx, t)
	cmd := u.command(t, "hung")
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" INT; exec "$0" "$@"`}, cmd.Args...)
	p := startProcess(t, cmd)
	eventually(t, func() bool { return len(u.incomplete(t, "hung")) > 0 }, "nothing goes in parts")
	u.gateway.process.signal(t, syscall.SIGSTOP)
	defer u.gateway.process.signal(t, syscall.SIGCONT)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	eventually(t, func() bool { return strings.Contains(p.output.String(), "stopping; Ctrl-C again ends it at once") }, "it does not say that it stops")
	time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Signal(syscall.SIGINT) }) // one that comes at once is the first once more
	began := time.Now()
	p.stop()
	assert.Less(t, time.Since(began), amount(3*time.Second, 10*time.Second))
	assert.Equal(t, 130, p.cmd.ProcessState.ExitCode())
}

// A reader that goes away, as in aimd upload | true, does not end the program before its work is done.
func TestUploadWhoseReaderGoes(t *testing.T) {
	beside(t)
	ctx := begin(t)
	u := newUploads(ctx, t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := u.command(t, "head")
	cmd.Stdout = w
	p := startProcess(t, cmd)
	require.NoError(t, w.Close())
	p.stop()
	assert.Equal(t, 1, p.cmd.ProcessState.ExitCode())
	assert.Contains(t, p.output.String(), "broken pipe")
	assert.Equal(t, len(u.names), u.stored(t, "head"))
	assert.Empty(t, u.incomplete(t, "head"))
}
