package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
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
		"demo":         {tiny("--json"), []string{"sdk-default", "backoff", "sdk-adaptive", "probe", "tahoe", "reno"}},
		"demo, rivals": {tiny("--json", "--only", "backoff-1s,backoff-v5"), []string{"backoff-v5", "backoff-1s"}},
		"demo, chosen": {tiny("--json", "--only", "reno,tahoe"), []string{"tahoe", "reno"}},
		"demo api":     {tinyAPI("--json"), []string{"plain", "backoff", "probe", "tahoe", "reno"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := aimd(t, append(c.args, "--price", "0.5")...)
			require.Zero(t, got.Status, got.Stderr)
			var strategies []string
			for line := range strings.Lines(got.Stdout) {
				var row map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &row), line)
				var keys []string
				for k := range row {
					keys = append(keys, k)
				}
				assert.ElementsMatch(t, []string{"strategy", "factor", "operations", "attempts", "refused", "lost", "makespan_s", "optimum_s", "p99_s", "cpu_s", "price"}, keys)
				strategy := row["strategy"].(string)
				strategies = append(strategies, strategy)
				assert.Equal(t, 20.0, row["operations"])
				assert.Equal(t, 20.0, row["attempts"])
				assert.Zero(t, row["lost"])
				assert.Zero(t, row["refused"])
				assert.Positive(t, row["optimum_s"])
				assert.Positive(t, row["p99_s"])
				assert.GreaterOrEqual(t, row["cpu_s"], 0.0) // so short a run may have none
				assert.Equal(t, 10.0, row["price"])
				windowed := strategy == "tahoe" || strategy == "reno"
				assert.Equal(t, map[bool]any{true: 0.9, false: 0.0}[windowed], row["factor"])
			}
			assert.Equal(t, c.strategies, strategies)
			assert.Empty(t, clitest.Files(t), "no page unless asked for")
		})
	}
}

func TestTable(t *testing.T) {
	got := aimd(t, tiny("--only", "sdk-default,reno", "--factor", "0.75")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "20 objects of 1KiB, uploaded from 4 goroutines")
	assert.Contains(t, got.Stdout, "serves 4 requests at a time, 1ms ±20% each")
	assert.Contains(t, got.Stdout, "│ reno 0.75 ")
	assert.Contains(t, got.Stderr, "none lost")
	assert.Empty(t, clitest.Files(t), "no file unless asked for")
}

// hour is work whose second strategy is interrupted.
type hour struct {
	*uploads
	interrupt func()
}

func (h hour) Start(s *race.Strategy, client *http.Client) (race.Service, error) {
	if s.Name == "reno" {
		h.interrupt()
	}
	return h.uploads.Start(s, client)
}

func TestInterruptionInTheMiddle(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	var out, told bytes.Buffer
	c := &cobra.Command{}
	c.SetContext(ctx)
	c.SetOut(&out)
	c.SetErr(&told)
	w := hour{smallUploads(), interrupt}
	w.Only = []string{"tahoe", "reno", "probe"}
	o := output{json: true, live: new(bool)}
	assert.ErrorIs(t, o.show(c, w, Report{}), context.Canceled)
	assert.Regexp(t, `^{"strategy":"tahoe".*"operations":40,.*}\n$`, out.String())
}

func TestQuickLeavesWhatWasAskedFor(t *testing.T) {
	got := aimd(t, "demo", "--quick", "--only", "reno", "--objects", "8", "--service", "1ms")
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "8 objects of 16KiB, uploaded from 256 goroutines")
	assert.Contains(t, got.Stdout, "1ms ±20% each")
}

// A run of less than a second measures how a strategy starts, not how it controls.
func TestQuickIsLongEnoughToCompare(t *testing.T) {
	u := newUploads()
	f := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	quick := u.flags(f)
	f.Var(value.Names(&u.Only, names(u)), "only", "")
	shorten(f, quick)
	assert.Equal(t, []string{"sdk-default", "backoff", "probe", "tahoe", "reno"}, u.Only)
	assert.Greater(t, u.Optimum(u.Operations), time.Second)
	assert.Less(t, u.Optimum(u.Operations), 3*time.Second)
}

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

// naps are operations of two seconds, but for a millisecond. The service has all but one.
type naps struct{}

func (naps) Optimum(int) time.Duration { return time.Second }

func (naps) Start(*race.Strategy, *http.Client) (race.Service, error) {
	return race.Service{
		Do: func(context.Context, int) error {
			time.Sleep(2*time.Second - time.Millisecond)
			return nil
		},
		Has: func(i int) bool { return i > 0 }, Peak: func() int { return 0 }, Close: func() {},
	}, nil
}

// A run of 10 operations, two seconds each but for the last millisecond.
func TestWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		w := &watcher{w: &b}
		r := race.Race{Operations: 10, Goroutines: 2, Factor: 0.9, Only: []string{"reno"}}
		require.NoError(t, r.Run(t.Context(), naps{}, w.begin, func(x race.Result) error {
			w.end(x)
			return nil
		}))
		assert.Equal(t, strings.Join([]string{
			"reno           2.0 s  2/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           4.0 s  4/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           6.0 s  6/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           8.0 s  8/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno          10.0 s  0 refused  1 lost",
			"",
		}, "\n"), b.String())
	})
}

var update = flag.Bool("update", false, "write the golden files")

func example() Report {
	return Report{
		Title: "2000 objects of 64 KiB", Service: "A store <with limits>.", Optimum: "optimum 6.250 s",
		Operation: "object", Done: "stored",
		Results: []race.Result{
			{Strategy: "sdk-default", Operations: 2000, Attempts: 2132, Refused: 1901, Lost: 1784, MakespanS: 2.15, OptimumS: 6.25, P99S: 2.1, Peak: 32, Reason: "quota exceeded"},
			{Strategy: "tahoe", Factor: 0.9, Operations: 2000, Attempts: 2019, Refused: 19, MakespanS: 6.78, OptimumS: 6.25, P99S: 0.9, CPUS: 1.25, Price: 0.010095, Peak: 32},
			{Strategy: "reno", Factor: 0.9, Operations: 2000, Attempts: 2010, Refused: 10, MakespanS: 6.5, OptimumS: 6.25},
		},
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().Text(&b))
	if *update {
		require.NoError(t, os.WriteFile("testdata/table.txt", b.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/table.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

// The last line is the result of aimd.New, whose law a reader may not know by its strategy's name.
func TestTheLastNoteIsTheResultOfAimdNew(t *testing.T) {
	r := example()
	assert.NotContains(t, strings.Join(r.notes(), "\n"), "aimd.New")
	r.Results = append([]race.Result{{Strategy: "probe", Operations: 2000, Lost: 3, MakespanS: 6.78}}, r.Results...)
	notes := r.notes()
	assert.Equal(t, "probe, the law of aimd.New: 1997 of 2000 objects stored in 6.78 s.", notes[len(notes)-1])
}
