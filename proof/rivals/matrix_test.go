package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The matrix runs the tool in this program, so a test's program is the tool, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sim" {
		main()
	}
	os.Exit(m.Run())
}

// Every published service names its source, and shows what was published.
func TestPublishedServices(t *testing.T) {
	files, err := filepath.Glob("published/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 32)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		assert.Regexp(t, `^# [\w-]+[/,].+\n`, string(text), f)
	}
	out, said := simRun(t, append([]string{"--json"}, files...)...)
	assert.Greater(t, bytes.Count(out, []byte("\n")), len(files))
	assert.NotContains(t, said, "max_events")
}

// simRun is aimd sim run, which must succeed.
func simRun(t *testing.T, words ...string) (out []byte, said string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self, append([]string{"sim", "run"}, words...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err = c.Output()
	require.NoError(t, err, stderr.String())
	return out, stderr.String()
}

// matrix.md explains each bold row of its table, and no other. What it advises for the tool's own services
// takes that time; the files of published hold the rest.
func TestThePageExplainsItsLosses(t *testing.T) {
	text, err := os.ReadFile("matrix.md")
	require.NoError(t, err)
	names := func(pattern string) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			all = append(all, string(m[1]))
		}
		return all
	}
	head := "| service: time @ attempts | probe | reno-0.9 |"
	for _, r := range rivals {
		head += " " + r.name + " |"
	}
	assert.Contains(t, string(text), head, "make the table of matrix.md and its figure again: proof/benchmarks/README.md")
	bold := names(`(?m)^\| \*\*([\w-]+)\*\* \|`)
	assert.Greater(t, len(bold), 5)
	assert.ElementsMatch(t, bold, names(`(?m)^- \*\*([\w-]+)\*\*:`))
	for _, x := range []struct {
		service, window string
		time            float64
	}{
		{"law-slowdown", "law: probe, max: 30", 1}, {"law-thrashing", "law: probe, max: 16", 1},
		{"law-1-client-500-slots", "law: probe, initial: 500", 1}, {"law-100-a-second-refused-count", "law: probe, max: 20", 1},
		{"law-100-a-second-refused-count", "law: reno, factor: 0.5", 1.17}, {"law-random-errors", "law: probe", 1.16},
	} {
		out, _ := simRun(t, x.service, "--json", "--runs", "5", "--set", "plot=[]", "--set", "expect=[]", "--set", "strategies=[{name: x, window: {"+x.window+"}}]")
		rows, err := read(out)
		require.NoError(t, err)
		assert.InEpsilon(t, x.time, rows[0].Laws[0].Time, 0.02, x)
	}
}

// matrix.md names each row of its table at which a law of 2026 takes more than a tenth less time than ours.
func TestThePageNamesWhatIsQuicker(t *testing.T) {
	text, err := os.ReadFile("matrix.md")
	require.NoError(t, err)
	cells := func(line string) []string {
		return strings.Split(strings.Trim(strings.ReplaceAll(line, "**", ""), "| "), " | ")
	}
	_, table, ok := strings.Cut(string(text), "| service: time @ attempts")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	for _, law := range []string{"lance", "llm-d", "tower", "zenvark", "desync"} {
		column := slices.Index(cells(lines[0]), law)
		require.Positive(t, column, law)
		var quicker []string
		for _, line := range lines[2 : len(lines)-1] {
			c := cells(line)
			var us, them float64
			_, err := fmt.Sscanf(c[1]+" "+c[column+1], "%g @ %g %g @", &us, new(float64), &them)
			if err == nil && us > tolerance*them+1e-9 {
				quicker = append(quicker, c[0])
			}
		}
		require.NotEmpty(t, quicker, law)
		named := regexp.MustCompile("(?s)\n- `" + law + "` at ([^`]*?)\\.\n").FindSubmatch(text)
		require.NotNil(t, named, law)
		assert.Equal(t, quicker, strings.Split(strings.Join(strings.Fields(string(named[1])), " "), ", "), law)
	}
}

const tiny = `
server: {service: 100ms, slots: 5, refusal: {time: 10ms}}
clients: {operations: 60}
sweep: [{field: server.slots, values: [3, 5]}]
`

func TestMatrix(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("tiny.yaml", []byte(tiny), 0o644))
	var table, lines, stderr bytes.Buffer
	require.Zero(t, matrix([]string{"--runs", "1", "--figure", "f.svg", "tiny.yaml", "vector-slow-send-1"}, &table, &stderr), stderr.String())
	rows := strings.Split(table.String(), "\n")
	require.Len(t, rows, 8)
	assert.True(t, strings.HasPrefix(rows[0], "| service: time @ attempts | probe | reno-0.9 | cubic |"), rows[0])
	assert.Contains(t, rows[2], "tiny server.slots=3")
	assert.Contains(t, rows[3], "tiny server.slots=5")
	assert.True(t, strings.HasPrefix(rows[4], "| vector-slow-send-1 | 1.00 @ 1.00 | 1.00 @ 1.00 |"), rows[4])
	for _, r := range rivals {
		assert.Contains(t, rows[0], " "+r.name+" |")
	}
	require.Zero(t, matrix([]string{"--runs", "1", "--json", "vector-slow-send-1"}, &lines, &stderr), stderr.String())
	var one row
	require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
	assert.Equal(t, "vector-slow-send-1", one.Service)
	assert.Len(t, one.Laws, len(rivals)+2)
	assert.Equal(t, cell{"probe", 1, 1, true}, one.ours())
	figure, err := os.ReadFile("f.svg")
	require.NoError(t, err)
	assert.Contains(t, string(figure), ">vector-slow-send-1</text>")
}

// A row is lost above 1.1 times the quickest other law that finishes.
func TestLosses(t *testing.T) {
	us := func(time float64, ends bool) row {
		return row{"here", []cell{{"probe", time, 1, ends}, {"fast", 1, 1, false}, {"best", 2, 1.5, true}, {"slow", 3, 1, true}}}
	}
	assert.Equal(t, "best", us(1, true).rest().Law)
	var rows []row
	for _, x := range []struct {
		row
		lost bool
	}{{us(2.19, true), false}, {us(2.21, true), true}, {us(9, false), true}, {row{"no", []cell{{"probe", 9, 1, true}, {"fast", 1, 1, false}, {"best", 9.91, 1, true}, {"slow", 9.89, 1, true}}}, false}} {
		assert.Equal(t, x.lost, x.row.lost(), x)
		rows = append(rows, x.row)
	}
	assert.Equal(t, `| service: time @ attempts | probe | fast | best | slow |
|---|---|---|---|---|
| here | 2.19 @ 1.00 | no end | 2.00 @ 1.50 | 3.00 @ 1.00 |
| **here** | **2.21 @ 1.00** | no end | 2.00 @ 1.50 | 3.00 @ 1.00 |
| **here** | **no end** | no end | 2.00 @ 1.50 | 3.00 @ 1.00 |
| no | 9.00 @ 1.00 | no end | 9.91 @ 1.00 | 9.89 @ 1.00 |
| within 1.1 times the quickest | 2 of 4 | 0 of 4 | 3 of 4 | 1 of 4 |
| geometric means where it finishes | 3.52, 1.00 | 1.00, 1.00 | 2.98, 1.36 | 4.04, 1.00 |
`, markdown(rows))
	figure := draw(rows)
	assert.Equal(t, 2, bytes.Count(figure, []byte(`<g class="lost"><text`)))
	require.NoError(t, xml.Unmarshal(figure, new(struct{})))
	for v, want := range map[float64]string{9.99: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100"} {
		assert.Equal(t, want, short(v))
	}
}

func TestMatrixEnds(t *testing.T) {
	var out, none bytes.Buffer
	assert.Zero(t, matrix([]string{"-h"}, &out, &none))
	assert.Empty(t, none.String())
	for line := range strings.Lines(usage) {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
	}
	assert.Contains(t, out.String(), usage)
	for line, want := range map[string]string{"--nonsense": "not defined", "nonsense": "there is no such file", "--runs 0": "want a whole number from 1"} {
		out.Reset()
		assert.Equal(t, 2, matrix(strings.Fields(line), &none, &out), line)
		assert.Contains(t, out.String(), want)
	}
	assert.Empty(t, none.String())

	t.Setenv("TMPDIR", t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := play(ctx, []string{"shopify"}, 1, &none)
	assert.True(t, errors.Is(err, context.Canceled), err)
	left, err := fs.Glob(os.DirFS(os.Getenv("TMPDIR")), "*")
	require.NoError(t, err)
	assert.Empty(t, left)
}
