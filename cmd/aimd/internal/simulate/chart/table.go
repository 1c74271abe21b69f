// Package chart shows studies: as tables, as charts of a terminal, as figures and
// as a page.
package chart

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

//go:embed names.yaml
var namesText []byte

var names struct {
	Columns []struct {
		Measure, Head string
		Optional      bool
	}
	Words map[string]string
}

func init() {
	if err := yaml.Unmarshal(namesText, &names); err != nil {
		panic(err) // it is our own
	}
}

func column(measure string) table.Column {
	for _, c := range names.Columns {
		if c.Measure == measure {
			return table.Column{Head: c.Head}
		}
	}
	return table.Column{Head: strings.ReplaceAll(measure, "_", " ")}
}

// measures are those that the table of the study shows: the usual ones, and those
// that it draws or expects, as far as they apply.
func measures(s experiment.Study) []string {
	wanted := map[string]bool{}
	for _, p := range s.Plot {
		wanted[p.Measure] = true
	}
	for _, e := range s.Expect {
		wanted[e.Measure] = true
	}
	var all []string
	for _, c := range names.Columns {
		if !c.Optional || wanted[c.Measure] {
			all = append(all, c.Measure)
		}
		delete(wanted, c.Measure)
	}
	for _, r := range s.Rows {
		for _, x := range r.Ranges {
			if wanted[x.Measure] {
				all = append(all, x.Measure)
			}
			delete(wanted, x.Measure)
		}
	}
	return slices.DeleteFunc(all, func(m string) bool {
		if m == "jain" && s.Clients.Count <= 1 && len(s.Sweep) < 2 {
			return true // a single client is treated fairly
		}
		return !slices.ContainsFunc(s.Rows, func(r experiment.Row) bool {
			x := r.Of(m)
			return x.Applies && (m != "given_up" || x.Max.Value > 0)
		})
	})
}

// cell is the median of a measure, with the range around it if there is one. If
// operations were given up, the time is not comparable with the optimum.
func cell(r experiment.Row, measure string) table.Cell {
	x, lost := r.Of(measure), r.Of("given_up")
	gaveUp := lost.Applies && lost.Max.Value > 0
	if !x.Applies || measure == "span" && gaveUp {
		return table.Cell{Text: "–"}
	}
	c := table.Cell{Text: x.Median.String(), Bad: measure == "given_up" && gaveUp}
	if least, most := x.Min.String(), x.Max.String(); least != c.Text || most != c.Text {
		c.Around = least + "–" + most
	}
	return c
}

// newTable is the study's rows: the medians, and the ranges around them.
func newTable(s experiment.Study, sweepName func(field string) string) table.Table {
	shown := measures(s)
	var t table.Table
	for _, x := range s.Sweep {
		t.Columns = append(t.Columns, table.Column{Head: sweepName(x.Field), Left: true})
	}
	t.Columns = append(t.Columns, table.Column{Head: "strategy", Left: true})
	for _, m := range shown {
		t.Columns = append(t.Columns, column(m))
	}
	for _, r := range s.Rows {
		var row []table.Cell
		for _, at := range r.At {
			_, v, _ := strings.Cut(at, "=")
			row = append(row, table.Cell{Text: v})
		}
		row = append(row, table.Cell{Text: r.Strategy.Name})
		for _, m := range shown {
			row = append(row, cell(r, m))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
