package chart

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/sim"
)

// Probe explains the name of a strategy.
const Probe = "probe: the law of aimd.New."

// Text writes the study for a terminal: title, table and a small chart. A grid of two
// sweeps is shown by its maps.
func Text(w io.Writer, s experiment.Study) error {
	title := s.Name
	if s.Title != "" {
		title += ": " + s.Title
	}
	if err := table.Paragraphs(w, title); err != nil {
		return err
	}
	maps := slices.DeleteFunc(slices.Clone(s.Plot), func(p scenario.Plot) bool { return p.Kind != scenario.Map })
	for _, p := range maps {
		if err := writeMap(w, grid{drawing{Study: s, Plot: p}}); err != nil {
			return err
		}
	}
	if len(maps) == 0 {
		if err := newTable(s, func(field string) string { return field }).Write(w); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(s.Rows, func(r experiment.Row) bool { return r.Strategy.Name == "probe" }) {
		if err := table.Paragraphs(w, Probe); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, graphs(s)+"\n")
	return err
}

// Sizes of the graphs.
const (
	graphWidth = 66 // characters
	mostGraphs = 6
)

// graphs are small charts of the requests per second, one for each strategy, to the same
// logarithmic scale. For a figure of delays they are the delays. A sweep has its table alone.
func graphs(s experiment.Study) string {
	switch {
	case len(s.Plot) > 0 && s.Plot[0].Kind == scenario.Delays:
		return textDelays(s)
	case len(s.Sweep) > 0:
		return ""
	}
	rows := s.Rows[:min(len(s.Rows), mostGraphs)]
	end, top := 0.0, 1.0
	for _, r := range rows {
		end = max(end, r.Typical.End.Seconds())
	}
	series := make([][]float64, len(rows))
	for i, r := range rows {
		series[i] = logarithms(r.Typical.Traces, end)
		top = max(top, math.Ceil(slices.Max(series[i])))
	}
	var b strings.Builder
	for i, r := range rows {
		options := []asciigraph.Option{
			asciigraph.Width(graphWidth), asciigraph.Height(int(top)), asciigraph.LowerBound(0), asciigraph.UpperBound(top),
			asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%6s", experiment.Show(math.Round(math.Pow(10, v)))) }),
		}
		if i == len(rows)-1 {
			options = append(options, asciigraph.XAxisRange(0, end), asciigraph.XAxisValueFormatter(experiment.Show))
		}
		b.WriteString(r.Strategy.Name + "\n" + asciigraph.Plot(series[i], options...) + "\n")
	}
	caption := "requests per second over time (s), logarithmic"
	if len(rows) < len(s.Rows) {
		caption += fmt.Sprintf("; the first %d of %d strategies", len(rows), len(s.Rows))
	}
	return caption + "\n" + b.String()
}

func textDelays(s experiment.Study) string {
	var b strings.Builder
	for _, r := range s.Rows {
		fmt.Fprintf(&b, "%s waits", r.Strategy.Name)
		for _, w := range waits(r.Strategy.Retry, s.Seed) {
			b.WriteString(" " + experiment.Show(w.Seconds()))
		}
		b.WriteString(" s\n")
	}
	return b.String()
}

// logarithms returns the logarithm of the rate of requests in each column of a graph.
// Less than one request per second counts as one.
func logarithms(t sim.Traces, end float64) []float64 {
	rates, all := t.Of("requests"), make([]float64, graphWidth)
	if len(rates) == 0 || end == 0 {
		return all // the run was interrupted before its first sample
	}
	perColumn := end / t.Interval.Seconds() / graphWidth // samples
	for i := range all {
		from := int(float64(i) * perColumn)
		to := max(int(float64(i+1)*perColumn), from+1)
		if some := rates[min(from, len(rates)):min(to, len(rates))]; len(some) > 0 {
			all[i] = math.Log10(max(means(some, len(some))[0], 1))
		}
	}
	return all
}

func writeMap(w io.Writer, g grid) error {
	rows, columns := g.Sweep[0], g.Sweep[1]
	t := table.Table{Columns: []table.Column{{Head: rows.Field + " \\ " + columns.Field, Left: true}}}
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
	if err := table.Paragraphs(w, fmt.Sprintf("%s: %s over %s", label(g.Measure), g.Plot.Strategies[0], g.Plot.Strategies[1])); err != nil {
		return err
	}
	return t.Write(w)
}
