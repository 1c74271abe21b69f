package demo

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/internal/sim"
)

// Report is all there is to show.
type Report struct {
	// Title, Service and Optimum are sentences about the work, the service, and how the optimum is computed.
	Title, Service, Optimum string
	// Operation and Done are words: "object" and "stored".
	Operation, Done string
	// PerSecond is the number of requests that the service serves in a second, Each how long each takes.
	PerSecond float64
	Each      time.Duration
	Results   []race.Result
}

// Text writes the report for a terminal.
func (r Report) Text(w io.Writer) error {
	if err := table.Paragraphs(w, r.Title, r.Service, r.Optimum); err != nil {
		return err
	}
	if err := r.table().Write(w); err != nil {
		return err
	}
	return table.Paragraphs(w, r.notes()...)
}

func (r Report) table() table.Table {
	t := table.Table{Columns: []table.Column{
		{Head: "strategy", Left: true}, {Head: "time s"}, {Head: "× optimum"}, {Head: "lost"}, {Head: "attempts/" + r.Operation},
		{Head: "refused"}, {Head: "p99 s"}, {Head: "CPU s"},
	}}
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
	mark, times, attempts, p99, cpu := "", "–", "–", "–", "–"
	if r.Lost > 0 {
		mark = " *"
	}
	if r.TimesOptimum() > 0 {
		times = fmt.Sprintf("%.2f", r.TimesOptimum())
	}
	if r.Operations > 0 {
		attempts = fmt.Sprintf("%.3f", float64(r.Attempts)/float64(r.Operations))
	}
	if r.P99S > 0 {
		p99 = fmt.Sprintf("%.2f", r.P99S)
	}
	if r.CPUS > 0 {
		cpu = fmt.Sprintf("%.2f", r.CPUS)
	}
	return []table.Cell{
		{Text: label(r)}, {Text: fmt.Sprintf("%.2f%s", r.MakespanS, mark)}, {Text: times}, {Text: strconv.Itoa(r.Lost), Bad: r.Lost > 0},
		{Text: attempts}, {Text: strconv.Itoa(r.Refused)}, {Text: p99}, {Text: cpu},
	}
}

func label(r race.Result) string {
	s := r.Strategy
	if r.Factor > 0 {
		s += " " + strconv.FormatFloat(r.Factor, 'g', -1, 64)
	}
	return s
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

// figures draws the runs over time like simulated runs: the windows, and the answers.
func (r Report) figures() []chart.Figure {
	var s experiment.Study
	s.Server = sim.Server{Slots: int(math.Ceil(r.PerSecond*r.Each.Seconds() - 1e-9)), Rate: sim.Rate{PerSecond: r.PerSecond}}
	span := max(250*time.Millisecond, 5*r.Each) // rates are taken over this time
	for _, x := range r.Results {
		row := experiment.Row{Strategy: sim.Strategy{Name: label(x)}}
		row.Typical = race.Traces(x.Samples)
		if len(x.Samples) > 0 && x.Samples[0].Cwnd > 0 {
			row.Strategy.Window.Law = x.Strategy
		}
		s.Rows = append(s.Rows, row)
	}
	s.Plot = []scenario.Plot{
		{Kind: scenario.Window, Name: "cwnd",
			Caption: "The congestion window and the slow-start threshold. Each refusal that begins a burst cuts the window; each success lets it grow."},
		{Kind: scenario.Answers, Name: "rate", LogY: true, Per: span,
			Caption: fmt.Sprintf("Answers per second, taken over %v each.", span)},
	}
	return chart.Figures(s)
}
