package upload

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// command runs the command line.
func command(t *testing.T, args ...string) clitest.Outcome {
	return clitest.Here(t.Context(), []*cobra.Command{Command()}, append([]string{"upload"}, args...)...)
}

// The flags show the defaults, and do not change them.
func TestDefaults(t *testing.T) {
	c, cmd := defaults(), new(cobra.Command)
	c.flags(cmd)
	assert.Equal(t, defaults(), c)
	require.NoError(t, cmd.Flags().Parse([]string{"--checksum", "md5", "--timeout", "0", "--part-size", "5GiB"}))
	assert.Equal(t, md5Only, c.Checksum)
	assert.Zero(t, c.Timeout)
	assert.EqualValues(t, partMost, c.PartSize)
}

func TestDestinations(t *testing.T) {
	for s, want := range map[string][2]string{
		"s3://bucket": {"bucket", ""}, "s3://bucket/": {"bucket", ""}, "s3://my.bucket/a/b": {"my.bucket", "a/b/"}, "s3://bucket/a/": {"bucket", "a/"},
		"s3://bucket/ä ö": {"bucket", "ä ö/"},
	} {
		bucket, prefix, err := destination(s)
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{bucket, prefix})
	}
	_, _, err := destination("s3://bucket/\xff")
	require.ErrorContains(t, err, "must be UTF-8")
}

// What scripts rely on.
func TestJSON(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.write("bad\xff", "x")
	got := command(t, w.dir, "s3://bucket/p", "--endpoint", w.URL, "--json")
	require.Equal(t, "aimd: 1 of 2 files failed\n", got.Stderr)
	lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
	require.Len(t, lines, 3)
	var summary map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &summary))
	delete(summary, "seconds")
	assert.Equal(t, map[string]any{
		"stored": 1.0, "skipped": 0.0, "failed": 1.0, "bytes": 7.0, "attempts": 3.0, "refused": 0.0, "interrupted": false,
	}, summary)
	all := strings.Join(lines[:2], "\n")
	assert.Contains(t, all, `{"path":"`+w.dir+`/a","key":"p/a","size":7,"status":"stored"}`)
	assert.Contains(t, all, `"path_base64":"`)
	assert.Contains(t, all, `"status":"failed","error":"the name is not UTF-8, as a key must be"}`)
}

func TestWhatPeopleSee(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.write("bell\a", "content")
	require.NoError(t, os.Symlink(".", filepath.Join(w.dir, "loop")))
	to := []string{w.dir, "s3://bucket/p", "--endpoint", w.URL}

	got := command(t, append(to, "--dry-run")...)
	require.Zero(t, got.Status)
	assert.ElementsMatch(t, []string{
		"planned: " + w.dir + "/a -> p/a (7 B)", `planned: "` + w.dir + `/bell\a" -> "p/bell\a" (7 B)`,
		"would upload 2 files (14 B), 1 skipped, 0 failed",
	}, strings.Split(strings.TrimSpace(got.Stdout), "\n"))
	loop := "skipped: " + w.dir + "/loop: symbolic link to a directory that it lies in, not followed\n"
	assert.Equal(t, loop, got.Stderr)

	got = command(t, to...)
	assert.Contains(t, got.Stdout, "2 stored (14 B), 1 skipped, 0 failed in ")
	assert.Equal(t, loop, got.Stderr)
	assert.Equal(t, clitest.Outcome{}, command(t, append(to, "--quiet")...))
}

func TestOneErrorAtTheStart(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	fails := func(want string, args ...string) {
		got := command(t, append([]string{w.dir}, args...)...)
		assert.Equal(t, cli.Failed, got.Status)
		assert.Contains(t, got.Stderr, want)
		assert.Equal(t, 1, strings.Count(got.Stderr, "\n"))
	}
	fails("aimd: --endpoint "+w.URL+": there is no bucket missing; make it first: NoSuchBucket: ", "s3://missing", "--endpoint", w.URL)
	fails("--from: open ", "s3://bucket", "--endpoint", w.URL, "--from", w.dir+"/none")
	fails("no AWS region found", "s3://bucket")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	fails("no AWS credentials found; set AWS_ACCESS_KEY_ID", "s3://bucket", "--endpoint", w.URL)
}

// The summary names 20 files that failed, and counts the others.
func TestWhatFailedIsNamed(t *testing.T) {
	w := newWorld(t)
	w.files(25)
	w.write("ok", "x")
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return isPut(r) && !strings.HasSuffix(r.URL.Path, "/ok") && deny(rw, r, 400, "InvalidRequest")
	})
	got := command(t, w.dir, "s3://bucket", "--endpoint", w.URL)
	assert.Contains(t, got.Stdout, "1 stored (1 B), 0 skipped, 25 failed in ")
	assert.Equal(t, 20, strings.Count(got.Stderr, "failed: "+w.dir+"/"), got.Stderr)
	assert.Contains(t, got.Stderr, "and 5 more failed; --json names all\naimd: 25 of 26 files failed\n")
	got = command(t, w.dir, "s3://bucket", "--endpoint", w.URL, "--json")
	assert.Equal(t, 25, strings.Count(got.Stdout, `"status":"failed"`))
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	w := newWorld(t)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	got := clitest.Here(interrupted, []*cobra.Command{Command()}, "upload", w.dir, "s3://bucket", "--endpoint", w.URL)
	assert.Equal(t, cli.Interrupted, got.Status, got.Stderr)
}

// The store looks at the page when the first file comes.
func TestLive(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	cmd := Command()
	var stderr bytes.Buffer // nothing writes to it but before the work and, with --quiet, after it
	var once sync.Once
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			once.Do(func() { clitest.Shows(t, stderr.String(), `"name":"upload"`) })
		}
		return false
	})
	cmd.SetOut(new(bytes.Buffer))
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{w.dir, "s3://" + testBucket, "--endpoint", w.URL, "--live", "--quiet"})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	assert.Len(t, w.stored(), 1)
}
