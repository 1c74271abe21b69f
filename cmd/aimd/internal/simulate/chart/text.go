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
		if err := writeMap(w, drawing{Study: s, Plot: p}); err != nil {
			return err
		}
	}
	if len(maps) == 0 {
		if err := newTable(s, func(field string) string { return field }).Write(w); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, graphs(s)+"\n")
	return err
}

// Sizes of a graph, in characters.
const (
	graphWidth  = 66
	graphHeight = 4
	// mostGraphs bounds what is shown of many strategies.
	mostGraphs = 6
)

// graphs are small charts of the study, one for each strategy, to the same scale.
func graphs(s experiment.Study) string {
	switch {
	case len(s.Plot) > 0 && s.Plot[0].Kind == scenario.Delays:
		return textDelays(s)
	case len(s.Sweep) == 0:
		return rateGraphs(s)
	case len(s.Sweep) == 1:
		return sweepGraphs(s)
	}
	return ""
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

// rateGraphs are the requests per second over time, on a logarithmic scale.
func rateGraphs(s experiment.Study) string {
	rows := s.Rows[:min(len(s.Rows), mostGraphs)]
	end, top := 0.0, 1.0
	for _, r := range rows {
		end = max(end, r.Typical.End.Seconds())
	}
	g := graphSet{caption: "requests per second over time (s), logarithmic"}
	if len(rows) < len(s.Rows) {
		g.caption += fmt.Sprintf("; the first %d of %d strategies", len(rows), len(s.Rows))
	}
	for _, r := range rows {
		values := logarithms(r.Typical.Traces, end)
		top = max(top, slices.Max(values))
		g.names, g.series = append(g.names, r.Strategy.Name), append(g.series, values)
	}
	decades := math.Ceil(top)
	g.scale = []asciigraph.Option{
		asciigraph.Height(int(decades)), asciigraph.LowerBound(0), asciigraph.UpperBound(decades),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%6s", experiment.Show(math.Round(math.Pow(10, v)))) }),
	}
	g.axis = []asciigraph.Option{asciigraph.XAxisRange(0, end), asciigraph.XAxisValueFormatter(experiment.Show)}
	return g.String()
}

// logarithms are those of the rates of requests, one for each of the graph's columns.
// Less than one per second counts as one.
func logarithms(t sim.Traces, end float64) []float64 {
	rates := t.Of("requests")
	all := make([]float64, graphWidth)
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

// sweepGraphs are the first measure that the scenario draws, over the sweep.
func sweepGraphs(s experiment.Study) string {
	i := slices.IndexFunc(s.Plot, func(p scenario.Plot) bool { return p.Kind == scenario.Curve })
	if i < 0 || len(s.Rows) == 0 {
		return ""
	}
	measure, sweep := s.Plot[i].Measure, s.Sweep[0]
	g, top := graphSet{caption: label(measure) + ", over " + sweepLabel(sweep)}, 0.0
	for _, st := range (drawing{Study: s, rows: s.Rows}).strategies() {
		var all []float64
		for _, v := range sweep.Values {
			if r, ok := s.Row(st, []string{sweep.Field + "=" + v}); ok {
				all = append(all, r.Of(measure).Median.Value)
				top = max(top, all[len(all)-1])
			}
		}
		if len(all) == len(sweep.Values) && len(g.names) < mostGraphs {
			g.names, g.series = append(g.names, st), append(g.series, all)
		}
	}
	g.scale = []asciigraph.Option{
		asciigraph.Height(graphHeight), asciigraph.LowerBound(0), asciigraph.UpperBound(top),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%6s", experiment.Show(v)) }),
	}
	last := len(sweep.Values) - 1
	g.axis = []asciigraph.Option{
		asciigraph.XAxisRange(0, float64(last)), asciigraph.XAxisTickCount(min(last+1, 8)),
		asciigraph.XAxisValueFormatter(func(v float64) string { return sweep.Values[min(int(math.Round(v)), last)] }),
	}
	return g.String()
}

// graphSet is one graph per series, each under its name. The last has the horizontal
// axis of all.
type graphSet struct {
	caption     string
	names       []string
	series      [][]float64
	scale, axis []asciigraph.Option
}

func (g graphSet) String() string {
	var b strings.Builder
	for i, s := range g.series {
		if i == 0 {
			b.WriteString(g.caption + "\n")
		}
		options := append([]asciigraph.Option{asciigraph.Width(graphWidth)}, g.scale...)
		if i == len(g.series)-1 {
			options = append(options, g.axis...)
		}
		b.WriteString(g.names[i] + "\n" + asciigraph.Plot(s, options...) + "\n")
	}
	return b.String()
}

func writeMap(w io.Writer, d drawing) error {
	rows, columns := d.Sweep[0], d.Sweep[1]
	t := table.Table{Columns: []table.Column{{Head: rows.Field + " \\ " + columns.Field, Left: true}}}
	for _, v := range columns.Values {
		t.Columns = append(t.Columns, table.Column{Head: v})
	}
	for _, v := range rows.Values {
		line := []table.Cell{{Text: v}}
		for _, x := range columns.Values {
			c := table.Cell{Text: "–"}
			if r, ok := d.ratio(d.Plot.Strategies[0], d.Plot.Strategies[1], []string{rows.Field + "=" + v, columns.Field + "=" + x}); ok {
				c.Text = times(r)
			}
			line = append(line, c)
		}
		t.Rows = append(t.Rows, line)
	}
	if err := table.Paragraphs(w, fmt.Sprintf("%s: %s over %s", label(d.Measure), d.Plot.Strategies[0], d.Plot.Strategies[1])); err != nil {
		return err
	}
	return t.Write(w)
}
