// Package chart shows studies: as tables, as charts of a terminal, as figures and
// as a page.
package chart

import (
	"slices"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// columns are the measures that tables show where they apply, their heads, and which
// of them goes first where there is no room.
var columns = []struct {
	measure, head string
	drop          int
}{
	{"makespan_s", "time s", 0},
	{"span", "× optimum", 0},
	{"given_up", "given up", 0},
	{"attempts", "attempts", 0},
	{"attempts_per_op", "per op", 4},
	{"efficiency", "efficiency", 1},
	{"throughput", "done/s", 1},
	{"p50_s", "p50 s", 7},
	{"p99_s", "p99 s", 3},
	{"first_send_p99_s", "sent p99 s", 8},
	{"peak_in_flight", "peak", 9},
	{"peak_over_mean", "peak/mean", 1},
	{"return_over_mean", "return/mean", 1},
	{"jain", "Jain", 6},
	{"recovery_s", "recovery s", 1},
	{"outage_sent", "in outage", 2},
}

// optional are shown only where the scenario asks for them.
var optional = []string{"efficiency", "throughput", "peak_over_mean", "return_over_mean"}

func column(measure string) table.Column {
	for _, c := range columns {
		if c.measure == measure {
			return table.Column{Head: c.head, Drop: c.drop}
		}
	}
	return table.Column{Head: strings.ReplaceAll(measure, "_", " "), Drop: 1}
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
	for _, c := range columns {
		if !slices.Contains(optional, c.measure) || wanted[c.measure] {
			all = append(all, c.measure)
		}
		delete(wanted, c.measure)
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

// cell is the median of a measure, with the range around it if there is one. What was
// given up leaves no time that could be compared with the optimum.
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
	names := measures(s)
	var t table.Table
	for _, x := range s.Sweep {
		t.Columns = append(t.Columns, table.Column{Head: sweepName(x.Field), Left: true})
	}
	t.Columns = append(t.Columns, table.Column{Head: "strategy", Left: true})
	for _, m := range names {
		t.Columns = append(t.Columns, column(m))
	}
	for _, r := range s.Rows {
		var row []table.Cell
		for _, at := range r.At {
			_, v, _ := strings.Cut(at, "=")
			row = append(row, table.Cell{Text: v})
		}
		row = append(row, table.Cell{Text: r.Strategy.Name})
		for _, m := range names {
			row = append(row, cell(r, m))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
