package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// aimd runs a command line in an empty directory.
func aimd(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return clitest.Run(t, []*cobra.Command{Command()}, args...)
}

// tiny are flags for a run of no time.
func tiny(args ...string) []string {
	return append([]string{"demo", "--objects", "20", "--size", "1KiB", "--goroutines", "4", "--slots", "4", "--service", "1ms"}, args...)
}

func tinyAPI(args ...string) []string {
	return append([]string{"demo", "api", "--requests", "20", "--workers", "4", "--rate", "100000", "--burst", "1000", "--service", "1ms"}, args...)
}

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct {
		args       []string
		strategies []string
	}{
		"demo":          {tiny("--json"), []string{"sdk-default", "backoff", "sdk-adaptive", "probe", "tahoe", "reno"}},
		"demo, chosen":  {tiny("--json", "--only", "reno,tahoe"), []string{"tahoe", "reno"}},
		"demo, probe":   {tiny("--json", "--only", "probe"), []string{"probe"}},
		"api, probe":    {tinyAPI("--json", "--only", "probe"), []string{"probe"}},
		"demo, a dash":  {tiny("-json", "-only=reno", "-quick"), []string{"reno"}},
		"demo api":      {tinyAPI("--json"), []string{"plain", "backoff", "probe", "tahoe", "reno"}},
		"demo api, one": {tinyAPI("--json", "--only", "plain"), []string{"plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := aimd(t, c.args...)
			require.Zero(t, got.Status, got.Stderr)
			var strategies []string
			for line := range strings.Lines(got.Stdout) {
				var row map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &row), line)
				var keys []string
				for k := range row {
					keys = append(keys, k)
				}
				assert.ElementsMatch(t, []string{"strategy", "factor", "operations", "attempts", "refused", "lost", "makespan_s", "optimum_s", "p99_s"}, keys)
				strategy := row["strategy"].(string)
				strategies = append(strategies, strategy)
				assert.Equal(t, 20.0, row["operations"])
				assert.Zero(t, row["lost"])
				assert.Positive(t, row["optimum_s"])
				windowed := strategy == "tahoe" || strategy == "reno"
				assert.Equal(t, map[bool]any{true: 0.9, false: 0.0}[windowed], row["factor"])
			}
			assert.Equal(t, c.strategies, strategies)
			assert.Empty(t, clitest.Files(t), "no page unless asked for")
		})
	}
}

func TestTableAndPage(t *testing.T) {
	got := aimd(t, tiny("--only", "sdk-default,reno", "--factor", "0.75")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "20 objects of 1KiB, uploaded from 4 goroutines")
	assert.Contains(t, got.Stdout, "serves 4 requests at a time, 1ms ±20% each")
	assert.Contains(t, got.Stdout, "│ reno 0.75 ")
	assert.Contains(t, got.Stdout, "Page with the curves: aimd-demo.html")
	assert.Contains(t, got.Stderr, "none lost")
	assert.Equal(t, []string{"aimd-demo.html"}, clitest.Files(t))
	page, err := os.ReadFile("aimd-demo.html")
	require.NoError(t, err)
	command := regexp.MustCompile(`<code>(.*)</code>`).FindSubmatch(page)
	require.NotNil(t, command)
	assert.Equal(t, "aimd demo --objects=20 --size=1KiB --goroutines=4 --slots=4 --service=1ms --only=sdk-default,reno --factor=0.75", string(command[1]))
	assert.False(t, regexp.MustCompile(`(?i)(src|href)\s*=`).Match(page))
}

func TestAPITableAndPage(t *testing.T) {
	got := aimd(t, tinyAPI("--only", "plain,tahoe")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "20 requests from a pool of 4 workers")
	assert.Contains(t, got.Stdout, "│ tahoe 0.9 ")
	assert.Equal(t, []string{"aimd-demo-api.html"}, clitest.Files(t))
}

func TestFilesAsAskedFor(t *testing.T) {
	got := aimd(t, tiny("--only", "reno", "--html", "", "--figures", "a/b")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Equal(t, []string{"a"}, clitest.Files(t))
	figures, err := filepath.Glob("a/b/*")
	require.NoError(t, err)
	assert.Len(t, figures, 6)

	got = aimd(t, tiny("--only", "reno", "--json", "--html", "page.html")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Equal(t, []string{"page.html"}, clitest.Files(t))
	assert.Equal(t, 1, strings.Count(got.Stdout, "\n"), "nothing but JSON")
	assert.Contains(t, got.Stderr, "Page with the curves: page.html")
}

func TestBadCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"nonsense":                           `unknown command "nonsense" for "aimd"`,
		"demo nonsense":                      `unknown command "nonsense" for "aimd demo"`,
		"demo --nonsense":                    `unknown flag: --nonsense`,
		"demo --objects 0":                   `invalid argument "0" for "--objects" flag: want a whole number from 1 to 1000000`,
		"demo --objects -5":                  `invalid argument "-5" for "--objects" flag: want a whole number from 1`,
		"demo --objects 1.5":                 `invalid argument "1.5" for "--objects" flag: want a whole number`,
		"demo --size 0":                      `invalid argument "0" for "--size" flag: want a size from 1B to 1GiB, like 512, 64KiB or 1.5MB`,
		"demo --size 64XB":                   `invalid argument "64XB" for "--size" flag: want a size`,
		"demo --size 2GiB":                   `invalid argument "2GiB" for "--size" flag: want a size`,
		"demo --size NaN":                    `invalid argument "NaN" for "--size" flag: want a size`,
		"demo --goroutines 0":                `invalid argument "0" for "--goroutines" flag: want a whole number from 1 to 10000`,
		"demo --slots 0":                     `invalid argument "0" for "--slots" flag: want a whole number from 1 to 10000`,
		"demo --service 0":                   `invalid argument "0" for "--service" flag: want a duration from 1ms to 1m, like 100ms`,
		"demo --service 100":                 `invalid argument "100" for "--service" flag: want a duration`,
		"demo --jitter 1.5":                  `invalid argument "1.5" for "--jitter" flag: want a number from 0 to 1`,
		"demo --factor 0":                    `invalid argument "0" for "--factor" flag: want a number greater than 0 and less than 1`,
		"demo --factor 1":                    `invalid argument "1" for "--factor" flag: want a number greater than 0 and less than 1`,
		"demo --factor NaN":                  `invalid argument "NaN" for "--factor" flag: want`,
		"demo --factor Inf":                  `invalid argument "Inf" for "--factor" flag: want`,
		"demo -factor -1":                    `invalid argument "-1" for "--factor" flag: want`,
		"demo --only best":                   `invalid argument "best" for "--only" flag: want one or more of sdk-default,backoff,sdk-adaptive,probe,tahoe,reno`,
		"demo --only reno,":                  `invalid argument "reno," for "--only" flag: want one or more`,
		"demo --only probe --factor 0.5":     `--factor: makes no difference to --only probe, want it with tahoe or reno`,
		"demo api --only plain --factor 0.5": `--factor: makes no difference to --only plain, want it with tahoe or reno`,
		"demo --limit -1s":                   `invalid argument "-1s" for "--limit" flag: want a duration from 0s to 24h`,
		"demo --objects 1000000":             `--objects 1000000 of --size 64KiB: 62500 MiB are too much for a store in memory, want at most 4096 MiB`,
		"demo --html no/such/page.html":      `--html no/such/page.html: there is no directory no/such`,
		"demo --html .":                      `--html .: is a directory, want the name of a file`,
		"demo --figures /dev/null":           `--figures /dev/null: want a directory that can be made or written to: not a directory`,
		"demo api nonsense":                  `unknown command "nonsense" for "aimd demo api"`,
		"demo api --requests 0":              `invalid argument "0" for "--requests" flag: want a whole number from 1 to 1000000`,
		"demo api --workers 0":               `invalid argument "0" for "--workers" flag: want a whole number from 1 to 10000`,
		"demo api --rate 0":                  `invalid argument "0" for "--rate" flag: want a number from 0.1 to 100000`,
		"demo api --burst 0":                 `invalid argument "0" for "--burst" flag: want a whole number from 1 to 100000`,
		"demo api --retry-after 1m1":         `invalid argument "1m1" for "--retry-after" flag: want a duration from 1s to 1h`,
		"demo api --only sdk-default":        `invalid argument "sdk-default" for "--only" flag: want one or more of plain,backoff,probe,tahoe,reno`,
	} {
		t.Run(line, func(t *testing.T) {
			got := aimd(t, strings.Fields(line)...)
			assert.Equal(t, cli.WrongUsage, got.Status)
			assert.Contains(t, got.Stderr, want)
			assert.Regexp(t, `\nTry: aimd.* -h\n$`, got.Stderr)
			assert.Empty(t, got.Stdout)
			assert.Empty(t, clitest.Files(t))
		})
	}
}

func TestInterruption(t *testing.T) {
	got := clitest.Interrupted(t, []*cobra.Command{Command()}, tiny("--json")...)
	assert.Equal(t, cli.Interrupted, got.Status)
	assert.Equal(t, 1, strings.Count(got.Stdout, "\n"), "the first strategy's row is known, the others were not begun")
	assert.Contains(t, got.Stderr, "aimd: interrupted\n")
}

func TestInterruptionInTheMiddle(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	var out, told bytes.Buffer
	c := &cobra.Command{}
	c.SetContext(ctx)
	c.SetOut(&out)
	c.SetErr(&told)
	o := output{json: true, html: "page.html"}
	c.Flags().StringVar(&o.html, "html", "", "")
	require.NoError(t, c.Flags().Set("html", "page.html"))
	err := o.show(c, example(), func(func(string, *race.Meter)) iter.Seq2[race.Result, error] {
		return func(yield func(race.Result, error) bool) {
			yield(race.Result{Strategy: "tahoe"}, nil)
			interrupt()
			yield(race.Result{Strategy: "reno", Operations: 7, Interrupted: true}, nil)
		}
	})
	assert.ErrorIs(t, err, cli.ErrInterrupted)
	assert.Regexp(t, `^{"strategy":"tahoe".*}\n{"strategy":"reno".*"operations":7,.*"interrupted":true}\n$`, out.String())
	assert.Equal(t, []string{"page.html"}, clitest.Files(t), "the results so far are shown")
}

func TestHelpTeaches(t *testing.T) {
	got := aimd(t, "demo", "-h")
	assert.Zero(t, got.Status)
	for _, word := range []string{"sdk-adaptive", "p99", "lost", "optimum", "(default 64KiB)"} {
		assert.Contains(t, got.Stdout, word)
	}
}

func TestQuickLeavesWhatWasAskedFor(t *testing.T) {
	got := aimd(t, "demo", "-quick", "-only", "reno", "-objects", "8", "-service", "1ms", "-html", "")
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "8 objects of 16KiB, uploaded from 256 goroutines")
	assert.Contains(t, got.Stdout, "1ms ±20% each")
}

// A run of less than a second measures how a strategy starts, not how it controls.
func TestQuickIsLongEnoughToCompare(t *testing.T) {
	for _, live := range []bool{false, true} {
		u := newUploads()
		f := pflag.NewFlagSet("demo", pflag.ContinueOnError)
		u.flags(f)
		f.Var(value.Names(&u.Only, names(u)), "only", "")
		shorten(f, u.quick(live))
		assert.Equal(t, []string{"sdk-default", "backoff", "probe", "tahoe", "reno"}, u.Only)
		assert.Greater(t, u.Optimum(u.Operations), time.Second)
		assert.Less(t, u.Optimum(u.Operations), 3*time.Second)
	}
}
