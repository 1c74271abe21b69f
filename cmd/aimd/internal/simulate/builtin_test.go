//go:build !race

// What is here is one goroutine's arithmetic, for which the race detector would take ten
// times as long: make test runs it without.

package simulate

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
)

// harmful are the scenarios in which the default law takes more than 1.5 times the time of the
// better of Reno 0.9 and backoff, at one point of the sweep at least. A scenario whose
// expectations are met must leave this list.
var harmful = []string{
	"harm-blocks-of-sizes", "harm-first-attempt-refused", "harm-one-of-four-down", "harm-share-refused",
}

// whole are the scenarios of the story all of whose lines of --json are compared with something, with -laws.
var whole = []string{"window-vs-backoff", "backoff-or-window"}

// long are the scenarios that wait for -laws, by how their names begin: most of the time of all. The push plays fleets in
// internal/sim.
var long = []string{"law-", "fleet-"}

// judged has all runs played, and the long scenarios, too.
var judged = flag.Bool("laws", false, "play all runs, also of the scenarios by which laws are judged, as make proof does")

// All built-in scenarios show what they expect: the numbers of the texts in the first third of their runs, and with -laws
// in all, with the long ones.
func TestBuiltinScenariosShowWhatTheyExpect(t *testing.T) {
	if testing.Short() {
		t.Skip("some 20 s of two cores, minutes with -laws")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // little of it stays
	all := rows(t, builtins(t))
	if !*judged {
		return
	}
	thePageOfLawsTellsThis(t, all)
	theLawsPageTellsThis(t, all)
	span, attempts := means(t, all, "probe")
	t.Logf("geometric means over the limits and the slots: %.3f times the optimum, %.3f attempts", span, attempts)
	// The law of 25 rules had 1.22 and 1.14: where each second has a quota that counts refused requests it was better.
	assert.LessOrEqual(t, span, 1.3)
	assert.LessOrEqual(t, attempts, 1.18)
}

// builtins runs all scenarios, and returns their lines of --json in any order.
func builtins(t *testing.T) string {
	var mu sync.Mutex
	var stdout bytes.Buffer
	t.Run("each", func(t *testing.T) {
		for _, name := range scenario.Builtins() {
			if !*judged && slices.ContainsFunc(long, func(of string) bool { return strings.HasPrefix(name, of) }) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel() // or one core would wait for each one's last run
				s, err := load(t.Context(), name, nil)
				require.NoError(t, err)
				study, err := experiment.Run(t.Context(), asserted(s), func() {})
				require.NoError(t, err)
				problems, expected := []string{}, 0
				for _, v := range study.Verdicts() {
					expected++
					if !v.Met {
						problems = append(problems, v.Problem)
					}
				}
				for _, e := range study.Expect {
					for _, p := range study.Points() {
						if p.Has(e.At) {
							expected--
						}
					}
				}
				assert.Zero(t, expected, "each expectation has its verdicts")
				if slices.Contains(harmful, name) {
					assert.NotEmpty(t, problems, "its expectations are met: take it out of the list")
					for _, p := range problems {
						assert.Contains(t, p, "probe: makespan_s over that of reno-0.9 or backoff")
					}
				} else {
					assert.Empty(t, problems)
				}
				mu.Lock()
				defer mu.Unlock()
				assert.NoError(t, study.JSON(&stdout))
			})
		}
	})
	return stdout.String()
}

// asserted is a scenario without the points, runs and strategies with which nothing is compared.
func asserted(s scenario.Scenario) scenario.Scenario {
	s.NoTraces = true
	if !*judged && s.Name != "published-rate-per-address" { // this one needs all to show it
		s.Runs = s.Runs/3 | 1 // the median is one of them
	}
	law := strings.HasPrefix(s.Name, "law-") // has all points in a table, or in the means
	var names []string
	all := true
	for _, e := range s.Expect {
		names = append(append(names, e.Strategy), e.Others()...)
		all = all && len(e.At) > 0
	}
	switch {
	case *judged && slices.Contains(whole, s.Name), law && len(s.Sweep) == 0, slices.ContainsFunc(s.Sweep, ofStrategy):
		return s
	case law:
		names = append(names, "probe")
	}
	s.Strategies = slices.DeleteFunc(slices.Clone(s.Strategies), func(st sim.Strategy) bool { return !slices.Contains(names, st.Name) })
	s.Sweep = slices.Clone(s.Sweep)
	for i, w := range s.Sweep {
		s.Sweep[i].Values = slices.DeleteFunc(slices.Clone(w.Values), func(v string) bool {
			return all && !law && !slices.ContainsFunc(s.Expect, func(e scenario.Expectation) bool {
				return slices.Contains(e.At, w.At(v)[0])
			})
		})
	}
	return s
}

// ofStrategy: a sweep names a strategy by its place, which would be another's if one before it were missing.
func ofStrategy(w scenario.Sweep) bool { return strings.Contains(w.Field, "strategies[") }

// row is a line of --json: the medians of the time over the optimum, and of the attempts for each operation.
type row struct {
	Scenario, Strategy string
	Set                map[string]string
	Span               struct{ Median float64 }
	AttemptsPerOp      struct{ Median float64 } `json:"attempts_per_op"`
}

func rows(t *testing.T, lines string) (all []row) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(lines)); d.More(); {
		var r row
		require.NoError(t, d.Decode(&r))
		all = append(all, r)
	}
	return all
}

// means are the geometric means of a strategy over the points of law-sweep-20, -100 and
// -500 and law-slots-4, -32 and -256.
func means(t *testing.T, all []row, strategy string) (span, attempts float64) {
	var n float64
	of := regexp.MustCompile(`^law-(sweep|slots)-[0-9]+$`)
	for _, r := range all {
		if r.Strategy == strategy && of.MatchString(r.Scenario) {
			span, attempts, n = span+math.Log(r.Span.Median), attempts+math.Log(r.AttemptsPerOp.Median), n+1
		}
	}
	require.EqualValues(t, 69, n)
	return math.Exp(span / n), math.Exp(attempts / n)
}

// Each example of the help runs: a single time where it says 101.
func TestSimRunExamples(t *testing.T) {
	for _, line := range strings.Split(runCommand().Example, "\n") {
		t.Run(line, func(t *testing.T) {
			line, _, _ := strings.Cut(line, " | ")
			var args []string
			for _, a := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1)[1:] {
				args = append(args, strings.Trim(a, "'"))
			}
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("my.yaml", []byte(mine), 0o644))
			got := clitest.Here(t.Context(), commands(), append(args, "--runs", "1")...)
			assert.Zero(t, got.Status, got.Stderr)
		})
	}
}

// theLawsPageTellsThis holds the tables of docs/laws.md that compare time and attempts against what aimd sim
// run --json showed. With -update it writes them.
func theLawsPageTellsThis(t *testing.T, all []row) {
	t.Helper()
	shown := map[string]string{}
	for _, x := range all {
		shown[x.Scenario+" "+x.Strategy] = few(x.Span.Median) + " @ " + few(x.AttemptsPerOp.Median)
	}
	const file = "../../../../docs/laws.md"
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	var strategies, lines []string
	compared := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			strategies = nil
		case cells[0] == "time @ attempts":
			strategies = cells[1:]
		case strategies != nil && strings.HasPrefix(cells[0], "law-"):
			for i, strategy := range strategies[:5] {
				if cells[1+i] == "no end" {
					continue
				}
				compared++
				want := shown[cells[0]+" "+strategy]
				if *update {
					cells[1+i] = want
				}
				assert.Equal(t, want, cells[1+i], "docs/laws.md: %s, %s", cells[0], strategy)
			}
			line = "| " + strings.Join(cells, " | ") + " |\n"
		}
		lines = append(lines, line)
	}
	assert.Greater(t, compared, 100)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644))
	}
}

// thePageOfLawsTellsThis holds how often docs/laws.md says that aimd.New is faster than backoff. Its cells are of more
// runs: make figures compares them.
func thePageOfLawsTellsThis(t *testing.T, all []row) {
	t.Helper()
	spans := map[string]map[string]float64{}
	for _, x := range all {
		if x.Scenario != "backoff-or-window" {
			continue
		}
		cell := x.Set["clients.count"] + "," + x.Set["server.slots"]
		if spans[cell] == nil {
			spans[cell] = map[string]float64{}
		}
		spans[cell][x.Strategy] = x.Span.Median
	}
	faster, same := 0, 0
	for cell, span := range spans {
		require.Positive(t, span["probe"], cell)
		require.Positive(t, span["backoff"], cell)
		switch {
		case span["probe"] < span["backoff"]:
			faster++
		case span["probe"] == span["backoff"]:
			same++
		}
	}
	page, err := os.ReadFile("../../../../docs/laws.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), fmt.Sprintf("In %d of its %d cells `aimd.New` is faster than backoff, and in %d as fast.", faster, len(spans), same))
}

// few is a number in as few digits as the page has them.
func few(x float64) string {
	digits := 2
	switch {
	case x >= 99.95:
		digits = 0
	case x >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f", digits, x)
}
