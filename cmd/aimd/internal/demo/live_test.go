package demo

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// viewer looks at the page once the last strategy is done, until it sees them all.
type viewer struct {
	bytes.Buffer
	t    *testing.T
	last string
	seen bool
}

func (v *viewer) Write(b []byte) (int, error) {
	if !v.seen && bytes.HasPrefix(b, []byte(v.last+" ")) {
		clitest.Shows(v.t, v.String(), `"name":"probe"`, `"name":"reno"`, `"name":"`+v.last)
		v.seen = true
	}
	return v.Buffer.Write(b)
}

// The address is written before the work, the strategies with a limiter run first, and all
// are in one page, under their names.
func TestLive(t *testing.T) {
	for last, args := range map[string][]string{"sdk-default": tiny("--live", "--json"), "plain": tinyAPI("--live", "--json")} {
		t.Chdir(t.TempDir())
		stdout, stderr := &bytes.Buffer{}, &viewer{t: t, last: last}
		status := cli.Tool{Commands: []*cobra.Command{Command()}, Stdout: stdout, Stderr: stderr}.Run(t.Context(), append(args, "--only", "probe,reno,"+last)...)
		require.Zero(t, status, stderr.String())
		assert.True(t, stderr.seen, stderr.String())
	}
}
