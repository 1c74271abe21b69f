package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

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

// word is as much of a scenario's name as there is room for: store-32.
var word = regexp.MustCompile(`^[^-]+(-[^-]+)?`)

// Figure has a panel for each measure, with a point for each scenario and strategy.
func (f Family) Figure() figure.Figure {
	all := f.strategies()
	x := figure.Axis{}
	var titles []string
	for _, s := range f.Studies {
		short := word.FindString(strings.TrimPrefix(s.Name, "law-"))
		x.Labels = append(x.Labels, short)
		titles = append(titles, short+": "+s.Title)
	}
	fig := figure.Figure{Name: f.Name, X: "scenario", PanelHeight: 2.6 * vg.Inch, Caption: strings.Join(titles, "; ") + "."}
	for i, name := range all {
		c := figure.Nth(name, i)
		c.Width = 0
		fig.Legend = append(fig.Legend, c)
	}
	for _, m := range f.Measures {
		p := figure.NewPanel(label(m), x, f.axis(m))
		for i, name := range all {
			p.Line(fig.Legend[i], f.points(name, m, 0.1*(float64(i)-float64(len(all)-1)/2)))
		}
		fig.Panels = append(fig.Panels, p)
	}
	return fig
}

// strategies are those that any of the studies has, the last first: scenarios begin with
// what the laws are compared with.
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

// points are a strategy's medians, each beside the others of its scenario.
func (f Family) points(strategy, measure string, beside float64) (all figure.Points) {
	for i, s := range f.Studies {
		if r, ok := s.Row(strategy, nil); ok && told(r, measure) {
			all = append(all, figure.Point{X: float64(i) + beside, Y: r.Of(measure).Median.Value})
		}
	}
	return all
}

// told reports whether the row tells of that measure: of work that was not done in
// time, attempts per operation say nothing.
func told(r experiment.Row, measure string) bool {
	return r.Of(measure).Applies && (measure != "attempts_per_op" || !r.Of("makespan_s").Median.AtLeast)
}

func (f Family) axis(measure string) figure.Axis {
	var values []float64
	for _, name := range f.strategies() {
		for _, p := range f.points(name, measure, 0) {
			values = append(values, p.Y)
		}
	}
	least, most := extent(values)
	return figure.Axis{Min: least / 1.2, Max: most * 1.2, Log: true}
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
				if ok && told(r, m) {
					c[i] = cell(r, m).Text
				}
			}
			row = append(row, table.Cell{Text: c[0] + " @ " + c[1]})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
