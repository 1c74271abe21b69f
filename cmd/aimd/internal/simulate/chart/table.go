// Package chart shows studies: as tables, as figures and as a page.
package chart

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

//go:embed names.yaml
var namesText []byte

var names struct {
	Usual        []string
	Heads, Words map[string]string
}

func init() {
	if err := yaml.Unmarshal(namesText, &names); err != nil {
		panic(err) // it is our own
	}
}

// measures are the measures that the table of the study shows: the usual ones, and those
// that it draws or expects, as far as they apply.
func measures(s experiment.Study) (all []string) {
	all = slices.Clone(names.Usual)
	add := func(m string) {
		if m != "" && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	for _, p := range s.Plot {
		add(p.Measure)
	}
	for _, e := range s.Expect {
		add(e.Measure)
	}
	return slices.DeleteFunc(all, func(m string) bool {
		if m == "jain" && s.Clients.Count <= 1 && len(s.Sweep) < 2 {
			return true // a single client is treated fairly
		}
		return !slices.ContainsFunc(s.Rows, func(r experiment.Row) bool { return r.Ranges[m].Applies && (m != "given_up" || r.GaveUp()) })
	})
}

// cell is the median of a measure, with the range around it if there is one. If
// operations were given up, or the runs had no end, the time is not comparable with the optimum.
func cell(r experiment.Row, measure string) table.Cell {
	x := r.Ranges[measure]
	if !x.Applies || measure == "span" && (r.GaveUp() || r.Endless(measure)) {
		return table.Cell{Text: "–"}
	}
	c := table.Cell{Text: x.Median.String(), Bad: measure == "given_up" && r.GaveUp()}
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
		for _, field := range x.Fields() {
			t.Columns = append(t.Columns, table.Column{Head: sweepName(field), Left: true})
		}
	}
	t.Columns = append(t.Columns, table.Column{Head: "strategy", Left: true})
	for _, m := range shown {
		t.Columns = append(t.Columns, table.Column{Head: cmp.Or(names.Heads[m], strings.ReplaceAll(m, "_", " "))})
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
			failed = cmp.Or(failed, table.Paragraphs(w, head), grid(s, p).Write(w))
		}
	}
	if !mapped {
		failed = cmp.Or(failed, newTable(s, func(field string) string { return field }).Write(w))
	}
	if slices.ContainsFunc(s.Rows, func(r experiment.Row) bool { return r.Strategy.Name == "probe" }) {
		failed = cmp.Or(failed, table.Paragraphs(w, Probe))
	}
	return failed
}
