package chart

import (
	"slices"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// Figures draws what the scenario asks for, as far as its rows are there.
func Figures(s experiment.Study) []figure.Figure {
	var all []figure.Figure
	for _, p := range plots(s) {
		d := drawing{Study: s, Plot: p, rows: rows(s, p)}
		if len(d.rows) == 0 {
			continue
		}
		f := d.draw()
		f.Name, f.Caption = strings.Trim(s.Name+"-"+p.Name, "-"), p.Caption
		all = append(all, f)
	}
	return all
}

// plots are those of the scenario, or what suits it if it names none.
func plots(s experiment.Study) []scenario.Plot {
	switch {
	case len(s.Plot) > 0:
		return s.Plot
	case len(s.Sweep) == 1:
		return []scenario.Plot{{Name: "attempts", Kind: scenario.Curve, Measure: "attempts_per_op"}, {Name: "p99", Kind: scenario.Curve, Measure: "p99_s"}}
	case len(s.Sweep) > 1:
		return nil
	}
	answers := scenario.Plot{Name: "answers", Kind: scenario.Answers, LogY: true}
	windowed := slices.ContainsFunc(s.Rows, hasWindow)
	if !windowed {
		return []scenario.Plot{answers}
	}
	return []scenario.Plot{answers, {Name: "cwnd", Kind: scenario.Window}}
}

func hasWindow(r experiment.Row) bool { return r.Strategy.Window.MakeLaw() != nil }

func rows(s experiment.Study, p scenario.Plot) []experiment.Row {
	var all []experiment.Row
	for _, r := range s.Rows {
		chosen := len(p.Strategies) == 0 || slices.Contains(p.Strategies, r.Strategy.Name)
		switch p.Kind {
		case scenario.Window:
			chosen = chosen && hasWindow(r)
		case scenario.Delays:
			chosen = chosen && r.Strategy.Retry.Delays() != nil
		}
		if chosen {
			all = append(all, r)
		}
	}
	return all
}

type drawing struct {
	experiment.Study
	scenario.Plot
	rows []experiment.Row
}

func (d drawing) draw() figure.Figure {
	switch d.Plot.Kind {
	case scenario.Requests:
		return d.requests()
	case scenario.Window:
		return d.window()
	case scenario.Load:
		return d.load()
	case scenario.Delays:
		return d.delays()
	case scenario.Curve:
		return d.curve()
	case scenario.Map:
		return d.heat()
	}
	return d.answers()
}
