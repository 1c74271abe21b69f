// Package chart shows studies: as tables, as charts of a terminal, as figures and
// as a page.
package chart

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/aimd-go/aimd/cmd/aimd/internal/experiment"
)

// columns are the measures that tables show where they apply, and their heads.
var columns = []struct{ measure, head string }{
	{"makespan_s", "time s"},
	{"span", "× optimum"},
	{"given_up", "given up"},
	{"attempts", "attempts"},
	{"attempts_per_op", "per op"},
	{"efficiency", "efficiency"},
	{"throughput", "done/s"},
	{"p50_s", "p50 s"},
	{"p99_s", "p99 s"},
	{"first_send_p99_s", "sent p99 s"},
	{"peak_in_flight", "peak"},
	{"peak_over_mean", "peak/mean"},
	{"return_over_mean", "return/mean"},
	{"jain", "Jain"},
	{"recovery_s", "recovery s"},
	{"outage_sent", "in outage"},
}

// optional are shown only where the scenario asks for them.
var optional = []string{"efficiency", "throughput", "peak_over_mean", "return_over_mean"}

// Head is the head of a measure's column.
func Head(measure string) string {
	for _, c := range columns {
		if c.measure == measure {
			return c.head
		}
	}
	return strings.ReplaceAll(measure, "_", " ")
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
			return true // who is alone is treated fairly
		}
		return !slices.ContainsFunc(s.Rows, func(r experiment.Row) bool {
			x := r.Of(m)
			return x.Applies && (m != "given_up" || x.Max.Value > 0)
		})
	})
}

// cell is the median, and the range below it if there is one.
func cell(x experiment.Range) (median, around string) {
	if !x.Applies {
		return "–", ""
	}
	median = x.Median.String()
	if least, most := x.Min.String(), x.Max.String(); least != median || most != median {
		around = least + "–" + most
	}
	return median, around
}

// Table is the study's rows as text: the medians, and the ranges below them.
func Table(s experiment.Study) string {
	t := newTable()
	names := measures(s)
	head := table.Row{}
	for _, x := range s.Sweep {
		head = append(head, x.Field)
	}
	head = append(head, "strategy")
	for _, m := range names {
		head = append(head, Head(m))
	}
	t.AppendHeader(head)
	right(t, len(s.Sweep)+2, len(head))
	for _, r := range s.Rows {
		first, second, ranged := table.Row{}, table.Row{}, false
		for _, at := range r.At {
			_, v, _ := strings.Cut(at, "=")
			first, second = append(first, v), append(second, "")
		}
		first, second = append(first, r.Strategy.Name), append(second, "")
		for _, m := range names {
			median, around := cell(r.Of(m))
			first, second = append(first, median), append(second, around)
			ranged = ranged || around != ""
		}
		t.AppendRow(first)
		if ranged {
			t.AppendRow(second)
		}
	}
	return t.Render() + "\n"
}
