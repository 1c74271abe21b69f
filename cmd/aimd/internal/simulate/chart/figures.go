package chart

import (
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// drawing is a figure of a study with the rows that it shows.
type drawing struct {
	experiment.Study
	scenario.Plot
	rows   []experiment.Row
	figure *Figure
}

// Figures draws the figures of the scenario, as far as its rows are there.
func Figures(s experiment.Study) (all []Figure) {
	for _, p := range plots(s) {
		d := drawing{Study: s, Plot: p, figure: newFigure(strings.Trim(s.Name+"-"+p.Name, "-"), p.Caption, 3.2*vg.Inch)}
		for _, r := range s.Rows {
			if (len(p.Strategies) == 0 || slices.Contains(p.Strategies, r.Strategy.Name)) &&
				(p.Kind != scenario.Window || r.Strategy.Window.MakeLaw() != nil) &&
				(p.Kind != scenario.Delays || r.Strategy.Retry != nil) {
				d.rows = append(d.rows, r)
			}
		}
		if len(d.rows) == 0 || p.Kind == scenario.Map { // a map is a table
			continue
		}
		switch p.Kind {
		case scenario.Delays:
			d.delays()
		case scenario.Curve:
			d.curve()
		default:
			d.overTime()
		}
		all = append(all, *d.figure)
	}
	return all
}

// plots returns the figures of the scenario, or the usual figures.
func plots(s experiment.Study) []scenario.Plot {
	switch {
	case len(s.Plot) > 0:
		return s.Plot
	case len(s.Sweep) == 0:
		return []scenario.Plot{{Name: "answers", Kind: scenario.Answers, LogY: true}, {Name: "cwnd", Kind: scenario.Window}}
	case len(s.Sweep) == 1:
		return []scenario.Plot{{Name: "attempts", Kind: scenario.Curve, Measure: "attempts_per_op"}, {Name: "p99", Kind: scenario.Curve, Measure: "p99_s"}}
	}
	return nil
}

// label returns the name of a measure or a field on an axis, with its unit.
func label(name string) string {
	if w, ok := names.Words[name]; ok {
		return w
	}
	s, seconds := strings.CutSuffix(name, "_s")
	s = strings.ReplaceAll(s, "_", " ")
	if seconds {
		s += " (s)"
	}
	return s
}
