// Package clitest runs command lines in tests.
package clitest

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// Outcome is the result of a command line.
type Outcome struct {
	Status         int
	Stdout, Stderr string
}

// Run runs a command line in an empty directory, which stays the working directory of the test.
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

// Shows reads the live page whose address standard error has, until each of the patterns has
// matched an event. An event has only the names that are new.
func Shows(t *testing.T, stderr string, patterns ...string) {
	t.Helper()
	address := regexp.MustCompile(`^live: (http://127\.0\.0\.1:\d+/)\n`).FindStringSubmatch(stderr)
	require.NotNil(t, address, stderr)
	res, err := http.Get(address[1] + "events")
	require.NoError(t, err)
	defer res.Body.Close()
	for events := bufio.NewReader(res.Body); ; {
		event, err := events.ReadString('\n')
		require.NoError(t, err)
		patterns = slices.DeleteFunc(patterns, func(p string) bool { return regexp.MustCompile(p).MatchString(event) })
		if len(patterns) == 0 {
			return
		}
	}
}

// Files returns the names of the files in the working directory.
func Files(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*")
	require.NoError(t, err)
	return names
}
