package chart

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// Probe explains the name of a strategy.
const Probe = "probe: the law of aimd.New."

// Text writes the study for a terminal: its title, and its table or the tables of its maps. If it
// draws delays, they follow.
func Text(w io.Writer, s experiment.Study) error {
	title, notes := s.Name, []string(nil)
	if s.Title != "" {
		title += ": " + s.Title
	}
	failed := table.Paragraphs(w, title)
	tables := []table.Table{newTable(s, func(field string) string { return field })}
	for _, p := range s.Plot {
		switch p.Kind {
		case scenario.Map:
			tables = nil
			failed = errors.Join(failed, table.Paragraphs(w, fmt.Sprintf("%s: %s over %s", label(p.Measure), p.Strategies[0], p.Strategies[1])))
			failed = errors.Join(failed, grid{drawing{Study: s, Plot: p}}.table().Write(w))
		case scenario.Delays:
			notes = delays(s)
		}
	}
	for _, t := range tables {
		failed = errors.Join(failed, t.Write(w))
	}
	if slices.ContainsFunc(s.Rows, func(r experiment.Row) bool { return r.Strategy.Name == "probe" }) {
		notes = append(notes, Probe)
	}
	return errors.Join(failed, table.Paragraphs(w, notes...))
}

// delays are the waits of each strategy, a line each.
func delays(s experiment.Study) (lines []string) {
	for _, r := range s.Rows {
		line := r.Strategy.Name + " waits"
		for _, w := range waits(r.Strategy.Retry, s.Seed) {
			line += " " + experiment.Show(w.Seconds())
		}
		lines = append(lines, line+" s")
	}
	return lines
}

// table is the map as a table.
func (g grid) table() (t table.Table) {
	rows, columns := g.Sweep[0], g.Sweep[1]
	t.Columns = []table.Column{{Head: rows.Field + " \\ " + columns.Field, Left: true}}
	for _, v := range columns.Values {
		t.Columns = append(t.Columns, table.Column{Head: v})
	}
	for j, v := range rows.Values {
		line := []table.Cell{{Text: v}}
		for i := range columns.Values {
			line = append(line, table.Cell{Text: g.text(i, j)})
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}
