// Package clitest runs command lines in tests.
package clitest

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// Outcome is what a command line leaves behind.
type Outcome struct {
	Status         int
	Stdout, Stderr string
}

// Run runs a command line in an empty directory, which stays the working directory of
// the test.
func Run(t *testing.T, commands []*cobra.Command, args ...string) Outcome {
	t.Helper()
	t.Chdir(t.TempDir())
	return Here(t.Context(), commands, args...)
}

// Here runs a command line where the test is.
func Here(ctx context.Context, commands []*cobra.Command, args ...string) Outcome {
	var stdout, stderr bytes.Buffer
	status := cli.Tool{Commands: commands, Stdout: &stdout, Stderr: &stderr}.Run(ctx, args...)
	return Outcome{status, stdout.String(), stderr.String()}
}

// Files are the names of what is in the working directory.
func Files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
