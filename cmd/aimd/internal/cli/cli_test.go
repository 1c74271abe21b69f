package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func run(t *testing.T, result error, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	c := &cobra.Command{Use: "demo", Short: "Demo", Args: NoArgs, RunE: func(*cobra.Command, []string) error { return result }}
	Flags(c).Int("slots", 0, "slots")
	var out, err bytes.Buffer
	status = Tool{[]*cobra.Command{c}, &out, &err}.Run(t.Context(), args...)
	return status, out.String(), err.String()
}

func TestStatuses(t *testing.T) {
	c := &cobra.Command{Use: "x"}
	for _, x := range []struct {
		result error
		want   int
		says   string
	}{
		{nil, 0, ""},
		{errors.New("it\x1b[2J broke"), Failed, "aimd: it\\u001b[2J broke\n"},
		{Usage(c, errors.New("wrong")), WrongUsage, "aimd: wrong\nTry: x -h\n"},
		{context.Canceled, Failed, "aimd: context canceled\n"},
	} {
		status, _, says := run(t, x.result, "demo")
		assert.Equal(t, x.want, status, x.result)
		assert.Equal(t, x.says, says)
	}
	assert.NoError(t, Usage(c, nil))
	ended, end := context.WithCancel(t.Context())
	end()
	var says strings.Builder
	assert.Equal(t, Interrupted, status(ended, context.Canceled, &says))
	assert.Equal(t, "aimd: interrupted\n", says.String())
}

func TestVersionIsOneLine(t *testing.T) {
	status, stdout, _ := run(t, nil, "--version")
	assert.Zero(t, status)
	assert.Regexp(t, `^aimd version \S+ \(go1\.\S+\)\n$`, stdout)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	require.NoError(t, MakeDir("csv", filepath.Join(dir, "c", "d")))
	assert.DirExists(t, filepath.Join(dir, "c", "d"))
	require.ErrorContains(t, MakeDir("csv", filepath.Join(dir, "a", "d")), "want a directory that can be made or written to: "+syscall.ENOTDIR.Error())
	assert.Equal(t, os.ErrClosed, Reason(&os.PathError{Err: os.ErrClosed}))
}
