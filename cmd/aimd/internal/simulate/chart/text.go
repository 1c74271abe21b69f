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

// Text writes the study for a terminal: its title, and its table or the tables of its maps.
func Text(w io.Writer, s experiment.Study) error {
	title, mapped := s.Name, false
	if s.Title != "" {
		title += ": " + s.Title
	}
	failed := table.Paragraphs(w, title)
	for _, p := range s.Plot {
		if p.Kind == scenario.Map {
			mapped = true
			head := fmt.Sprintf("%s: %s over %s", label(p.Measure), p.Strategies[0], p.Strategies[1])
			failed = errors.Join(failed, table.Paragraphs(w, head), grid{drawing{Study: s, Plot: p}}.table().Write(w))
		}
	}
	if !mapped {
		failed = errors.Join(failed, newTable(s, func(field string) string { return field }).Write(w))
	}
	if slices.ContainsFunc(s.Rows, func(r experiment.Row) bool { return r.Strategy.Name == "probe" }) {
		failed = errors.Join(failed, table.Paragraphs(w, Probe))
	}
	return failed
}
