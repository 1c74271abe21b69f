package demo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// Report is all there is to show.
type Report struct {
	// Title, Service and Optimum are sentences about the work, the service, and how the optimum is computed.
	Title, Service, Optimum string
	// Operation and Done are words: "object" and "stored".
	Operation, Done string
	Results         []race.Result
}

// Text writes the report for a terminal.
func (r Report) Text(w io.Writer) error {
	return cmp.Or(table.Paragraphs(w, r.Title, r.Service, r.Optimum), r.table().Write(w), table.Paragraphs(w, r.notes()...))
}

func (r Report) table() table.Table {
	t := table.New(1, "strategy", "time s", "× optimum", "lost", "attempts/"+r.Operation, "refused", "p99 s", "CPU s")
	priced := slices.ContainsFunc(r.Results, func(x race.Result) bool { return x.Price > 0 })
	if priced {
		t.Columns = append(t.Columns, table.Column{Head: "price"})
	}
	for _, x := range r.Results {
		cells := row(x)
		if priced {
			cells = append(cells, table.Cell{Text: experiment.Show(x.Price)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func row(r race.Result) []table.Cell {
	shown := func(format string, v float64) table.Cell {
		if v > 0 {
			return table.Cell{Text: fmt.Sprintf(format, v)}
		}
		return table.Cell{Text: "–"}
	}
	name, mark := r.Strategy, ""
	if r.Factor > 0 {
		name += fmt.Sprintf(" %g", r.Factor)
	}
	if r.Lost > 0 {
		mark = " *"
	}
	return []table.Cell{
		{Text: name}, shown("%.2f"+mark, r.MakespanS), shown("%.2f", r.TimesOptimum()), {Text: strconv.Itoa(r.Lost), Bad: r.Lost > 0},
		shown("%.3f", float64(r.Attempts)/float64(r.Operations)), {Text: strconv.Itoa(r.Refused)}, shown("%.2f", r.P99S), shown("%.2f", r.CPUS),
	}
}

// notes explain the numbers of the table. The last one is the result of aimd.New.
func (r Report) notes() (notes []string) {
	note := func(holds bool, format string, args ...any) {
		if holds {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	lost, peak := 0, 0
	for _, x := range r.Results {
		lost, peak = lost+x.Lost, max(peak, x.Peak)
	}
	note(lost > 0, "* without the lost work: it is not the time for all %ss.", r.Operation)
	for _, x := range r.Results {
		note(x.Lost > 0 && x.Reason != "", "%s lost %d of %d %ss; its first error: %q.", x.Strategy, x.Lost, x.Operations, r.Operation, x.Reason)
	}
	note(peak > 0, "By its own count the service never worked on more than %d requests at a time.", peak)
	note(true, "p99: 99 of 100 %ss that were %s took at most this time, with all waits and retries.", r.Operation, r.Done)
	for _, x := range r.Results {
		note(x.Strategy == "probe", "probe, the law of aimd.New: %d of %d %ss %s in %.2f s.", x.Operations-x.Lost, x.Operations, r.Operation, r.Done, x.MakespanS)
	}
	return notes
}
