package demo

import (
	"bufio"
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// viewer looks at the page once reno is done, until it sees both limiters.
type viewer struct {
	bytes.Buffer
	t    *testing.T
	seen bool
}

func (v *viewer) Write(b []byte) (int, error) {
	address := regexp.MustCompile(`^live: (\S+)\n`).FindSubmatch(v.Bytes())
	if address != nil && bytes.HasPrefix(b, []byte("reno ")) {
		res, err := http.Get(string(address[1]) + "events")
		require.NoError(v.t, err)
		defer res.Body.Close()
		for r := bufio.NewReader(res.Body); !v.seen; {
			line, err := r.ReadString('\n')
			require.NoError(v.t, err)
			v.seen = strings.Contains(line, `"name":"probe"`) && strings.Contains(line, `"name":"reno"`)
		}
	}
	return v.Buffer.Write(b)
}

// The address is told before the work, and all strategies with a limiter are in one
// page, under their names.
func TestLive(t *testing.T) {
	for _, args := range [][]string{tiny("--live", "--json", "--only", "probe,reno"), tinyAPI("--live", "--json", "--only", "probe,reno")} {
		t.Chdir(t.TempDir())
		stdout, stderr := &bytes.Buffer{}, &viewer{t: t}
		status := cli.Tool{Commands: []*cobra.Command{Command()}, Stdout: stdout, Stderr: stderr}.Run(t.Context(), args...)
		require.Zero(t, status, stderr.String())
		assert.True(t, stderr.seen, stderr.String())
	}
}
