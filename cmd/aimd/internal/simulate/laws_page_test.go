//go:build !race

package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// theLawsPageTellsThis holds the tables of docs/laws.md that compare time and attempts against what aimd sim
// run --json showed, but for the scenarios that are big. With -update it writes them.
func theLawsPageTellsThis(t *testing.T, stdout string) {
	t.Helper()
	shown := map[string]string{}
	for line := range strings.Lines(stdout) {
		var x struct {
			Scenario, Strategy string
			Span               struct{ Median float64 }
			AttemptsPerOp      struct{ Median float64 } `json:"attempts_per_op"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &x), line)
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
		case strategies != nil && strings.HasPrefix(cells[0], "law-") && !slices.Contains(big, cells[0]):
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

// theReadmeTellsThis holds how often the README says that aimd.New is faster than backoff.
func theReadmeTellsThis(t *testing.T, stdout string) {
	t.Helper()
	spans := map[string]map[string]float64{}
	for line := range strings.Lines(stdout) {
		var x struct {
			Scenario, Strategy string
			Set                map[string]string
			Span               struct{ Median float64 }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &x), line)
		if x.Scenario != "backoff-or-window" {
			continue
		}
		cell := fmt.Sprint(x.Set)
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
	readme, err := os.ReadFile("../../../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), fmt.Sprintf("In %d of its %d cells `aimd.New` is faster than backoff, and in %d as fast.", faster, len(spans), same))
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
