//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/versity/versitygw/backend/posix"
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
	cmd := exec.Command(aimdTool(t), "upload", u.dir, "s3://"+bucket+"/"+prefix, "--endpoint", "http://"+u.gateway.address,
		"--json", "--part-size", "5MiB", "--max-window", "16")
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	return cmd
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

// lastLine is the summary of a run.
type lastLine struct{ Stored, Skipped, Failed, Attempts int }

// said is that of a process; 0 if the run ended before the first file. It must agree
// with the lines of the files.
func said(t *testing.T, p *process) (s lastLine) {
	t.Helper()
	output := p.output.String()
	_, last, found := strings.Cut(output, `{"stored":`)
	if found {
		require.NoError(t, json.NewDecoder(strings.NewReader(`{"stored":`+last)).Decode(&s))
	}
	require.Equal(t, s, lastLine{
		strings.Count(output, `"status":"stored"`), strings.Count(output, `"status":"skipped"`), strings.Count(output, `"status":"failed"`), s.Attempts,
	}, output)
	return s
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

// If a run is stopped at any point, the next run sends the missing files, and no others. Each
// part that is left is named: by the run itself, or by the next run if it was killed.
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
				eventually(t, func() bool { return strings.Count(p.output.String(), `"status":"stored"`) >= enough }, "%d files", enough)
				_ = p.cmd.Process.Signal(s) // it may be done by now
				p.stop()
				has, left := u.stored(t, prefix), u.incomplete(t, prefix)
				if s != syscall.SIGKILL {
					assert.Contains(t, []int{0, 130}, p.cmd.ProcessState.ExitCode(), "%v", &p.output)
					assert.Equal(t, has, said(t, p).Stored, "%v", &p.output)
					assert.Empty(t, left, "%v", &p.output)
				}
				before, parts = before+has, parts+len(left)

				again := startProcess(t, u.command(t, prefix))
				again.stop()
				require.Zero(t, again.cmd.ProcessState.ExitCode(), "%v", &again.output)
				require.Equal(t, len(u.names), u.stored(t, prefix))
				// The store may have stored more of a killed run since.
				require.LessOrEqual(t, said(t, again).Stored, len(u.names)-has, "%v", &again.output)
				require.Equal(t, len(u.names), said(t, again).Stored+said(t, again).Skipped)
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
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	began := time.Now()
	p.stop()
	assert.Less(t, time.Since(began), amount(3*time.Second, 10*time.Second))
	assert.Equal(t, 130, p.cmd.ProcessState.ExitCode())
}

// aimd upload --json | head -1 ends with an exit status, and leaves no parts.
func TestUploadWhoseReaderGoes(t *testing.T) {
	beside(t)
	ctx := begin(t)
	u := newUploads(ctx, t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := u.command(t, "head")
	cmd.Stdout = w
	p := startProcess(t, cmd)
	require.NoError(t, w.Close())
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, `"status":"stored"`)
	require.NoError(t, r.Close())
	p.stop()
	assert.Equal(t, 1, p.cmd.ProcessState.ExitCode())
	assert.Contains(t, p.output.String(), "broken pipe")
	assert.Less(t, u.stored(t, "head"), len(u.names))
	assert.Empty(t, u.incomplete(t, "head"))
}
