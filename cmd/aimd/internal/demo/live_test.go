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

// viewer looks at the page once the last strategy is done, until it sees them all.
type viewer struct {
	bytes.Buffer
	t    *testing.T
	last string
	seen bool
}

func (v *viewer) Write(b []byte) (int, error) {
	address := regexp.MustCompile(`^live: (\S+)\n`).FindSubmatch(v.Bytes())
	if address != nil && bytes.HasPrefix(b, []byte(v.last+" ")) {
		res, err := http.Get(string(address[1]) + "events")
		require.NoError(v.t, err)
		defer res.Body.Close()
		for r := bufio.NewReader(res.Body); !v.seen; {
			line, err := r.ReadString('\n')
			require.NoError(v.t, err)
			v.seen = regexp.MustCompile(`"name":"probe: \d`).MatchString(line) &&
				regexp.MustCompile(`"name":"reno: \d`).MatchString(line) && strings.Contains(line, `"name":"`+v.last)
		}
	}
	return v.Buffer.Write(b)
}

// The address is told before the work, the strategies with a limiter run first, and all
// are in one page, under their names and how they ended.
func TestLive(t *testing.T) {
	for last, args := range map[string][]string{"sdk-default": tiny("--live", "--json"), "plain": tinyAPI("--live", "--json")} {
		t.Chdir(t.TempDir())
		stdout, stderr := &bytes.Buffer{}, &viewer{t: t, last: last}
		status := cli.Tool{Commands: []*cobra.Command{Command()}, Stdout: stdout, Stderr: stderr}.Run(t.Context(), append(args, "--only", "probe,reno,"+last)...)
		require.Zero(t, status, stderr.String())
		assert.True(t, stderr.seen, stderr.String())
	}
}
