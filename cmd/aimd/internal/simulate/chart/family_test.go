package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// Every strategy has a point for each scenario in both panels, and a cell in the table.
func TestFamily(t *testing.T) {
	one, two := study(t, "name: law-one\n"+base), study(t, "name: law-two-100ms-3\n"+base)
	f := Family{scenario.Family{Name: "law-x", Title: "X", Measures: [2]string{"makespan_s", "attempts_per_op"}}, []experiment.Study{one, two}}
	fig := f.Figure()
	assert.Len(t, fig.Plots, 2)
	assert.Equal(t, []string{"reno-0.9", "backoff"}, f.strategies())
	assert.Equal(t, "X", fig.Caption)
	for _, strategy := range f.strategies() {
		points := f.points(strategy, "makespan_s", 0.1)
		require.Len(t, points, 2)
		row, _ := two.Row(strategy, nil)
		assert.Equal(t, 1.1, points[1].X)
		assert.Equal(t, row.Of("makespan_s").Median.Value, points[1].Y)
		y := fig.Plots[1].Y
		assert.True(t, y.Min < points[1].Y && points[1].Y < y.Max)
	}
	table := f.table()
	require.Len(t, table.Rows, 2)
	assert.Regexp(t, `^\d+\.\d+ @ \d+\.\d+$`, table.Rows[1][2].Text)

	p := Story(nil, []Family{f}, "aimd sim figures")
	require.Len(t, p.Chapters, 1)
	assert.Equal(t, "law-x", p.Chapters[0].Sections[0].Name)
	svg, err := fig.SVG()
	require.NoError(t, err)
	assert.Contains(t, string(svg), "two-100ms-3")
}
