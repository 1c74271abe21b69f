//go:build unix

package tool

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// A directory to which nothing can be written was found after all runs, and the error named a file that nobody knows.
func TestADirectoryIsTriedBeforeTheRuns(t *testing.T) {
	got := clitest.Here(t.Context(), commands(), "sim", "figures", "--out", "/proc")
	assert.Equal(t, cli.WrongUsage, got.Status)
	assert.Contains(t, got.Stderr, "aimd: --out /proc: want a directory that can be made or written to: ")
}

// A pipe to which nobody writes held the command, also after Ctrl-C.
func TestACommandThatReadsAPipeCanBeStopped(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, args := range [][]string{{"sim", "run", pipe}, {"upload", dir, "s3://bucket", "--files-from", pipe}} {
		assert.Equal(t, clitest.Outcome{Status: cli.Interrupted, Stderr: "aimd: interrupted\n"}, clitest.Here(ctx, commands(), args...))
	}
}
