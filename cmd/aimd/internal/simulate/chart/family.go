package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/page"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// Family is a family of scenarios with its studies, as many as there are.
type Family struct {
	scenario.Family
	Studies []experiment.Study
}

// lawChapter is the chapter of the families: a figure each, and its numbers.
func lawChapter(families []Family) page.Chapter {
	c := page.Chapter{Title: "Which law when", Text: []string{
		"The laws of the window against backoff, at services of every kind: one point for each scenario and strategy, the median of a few runs. Lower is better in all of them.",
	}}
	for _, f := range families {
		c.Sections = append(c.Sections, page.Section{
			Name: f.Name, Title: f.Title, Figures: []figure.Figure{f.Figure()}, Table: f.table(),
			Summary: fmt.Sprintf("The numbers: %s @ %s", label(f.Measures[0]), label(f.Measures[1])),
		})
	}
	return c
}

// Figure has a plot for each measure, with a point for each scenario and strategy.
func (f Family) Figure() figure.Figure {
	fig := figure.Figure{Name: f.Name, Height: 2.6 * vg.Inch, Caption: f.Title}
	var words []string
	for _, s := range f.Studies {
		words = append(words, strings.TrimPrefix(s.Name, "law-"))
	}
	all := f.strategies()
	for n, m := range f.Measures {
		x := figure.Axis{Words: words}
		var values []float64
		var shown []plot.Plotter
		for i, name := range all {
			points := f.points(name, m, 0.1*(float64(i)-float64(len(all)-1)/2))
			for _, p := range points {
				values = append(values, p.Y)
			}
			line, glyph := figure.Nth(i)
			line.Width = 0
			legend := &fig
			if n > 0 {
				x.Words, legend = make([]string, len(words)), new(figure.Figure)
			}
			shown = append(shown, legend.Curve(name, points, line, glyph)...)
		}
		p := figure.New(label(m), x, axis(true, values...), shown...)
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/8, draw.XRight, draw.YTop
		fig.Plots = append([]*plot.Plot{p}, fig.Plots...)
	}
	return fig
}

// strategies are those that any of the studies has, the last first: scenarios begin with
// the strategies that the laws are compared with.
func (f Family) strategies() (all []string) {
	for _, s := range f.Studies {
		for _, r := range s.Rows {
			if !slices.Contains(all, r.Strategy.Name) {
				all = append(all, r.Strategy.Name)
			}
		}
	}
	slices.Reverse(all)
	return all
}

// points returns a strategy's medians. The points of one scenario are next to each other.
func (f Family) points(strategy, measure string, beside float64) (all plotter.XYs) {
	for i, s := range f.Studies {
		if r, ok := s.Row(strategy, nil); ok && counts(r, measure) {
			all = append(all, plotter.XY{X: float64(i) + beside, Y: r.Of(measure).Median.Value})
		}
	}
	return all
}

// counts reports whether the row has the measure. Attempts per operation mean little if
// the work was not done in time.
func counts(r experiment.Row, measure string) bool {
	return r.Of(measure).Applies && (measure != "attempts_per_op" || !r.Of("makespan_s").Median.AtLeast)
}

// table has a row for each scenario and a column for each strategy.
func (f Family) table() table.Table {
	t := table.Table{Columns: []table.Column{{Head: "scenario", Left: true}}}
	for _, name := range f.strategies() {
		t.Columns = append(t.Columns, table.Column{Head: name})
	}
	for _, s := range f.Studies {
		row := []table.Cell{{Text: s.Name, Around: s.Title}}
		for _, name := range f.strategies() {
			c := [2]string{"–", "–"}
			r, ok := s.Row(name, nil)
			for i, m := range f.Measures {
				if ok && counts(r, m) {
					c[i] = cell(r, m).Text
				}
			}
			row = append(row, table.Cell{Text: c[0] + " @ " + c[1]})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
