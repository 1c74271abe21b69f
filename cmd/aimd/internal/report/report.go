// Package report shows what runs cost: as a table, as figures, and as one HTML
// page with both.
package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
)

// Report is all there is to show.
type Report struct {
	// Title, Service and Optimum are sentences: what was done, to what
	// service, and how the optimum is computed.
	Title, Service, Optimum string
	// Operation and Operations are what is done, "object" and "objects"; Done is
	// what becomes of it, "stored".
	Operation, Operations, Done string
	// P99 says what p99 is.
	P99 string
	// Command is what was run.
	Command string
	// Slots is how many requests the service takes at a time, PerSecond how many
	// in a second; 0: not known.
	Slots, PerSecond float64
	// Span is over what time rates are taken.
	Span    time.Duration
	Results []measure.Result
}

// columns are the heads of the table.
func (r Report) columns() []string {
	return []string{"strategy", "time s", "× optimum", "attempts/" + r.Operation, "refused", "lost", "p99 s"}
}

// row is a result as the table shows it.
func row(r measure.Result) []string {
	mark := ""
	if r.Lost > 0 {
		mark = " *"
	}
	times := "?"
	if r.OptimumS > 0 {
		times = fmt.Sprintf("%.2f%s", r.TimesOptimum(), mark)
	}
	attempts, p99 := "–", "–"
	if r.Operations > 0 {
		attempts = fmt.Sprintf("%.3f", r.AttemptsPerOperation())
	}
	if r.P99S > 0 {
		p99 = fmt.Sprintf("%.2f", r.P99S)
	}
	return []string{
		label(r),
		fmt.Sprintf("%.2f%s", r.MakespanS, mark),
		times,
		attempts,
		strconv.Itoa(r.Refused),
		strconv.Itoa(r.Lost),
		p99,
	}
}

// label is the strategy with what is to be known of it.
func label(r measure.Result) string {
	s := r.Strategy
	if r.Factor > 0 {
		s += " " + strconv.FormatFloat(r.Factor, 'g', -1, 64)
	}
	switch {
	case r.Interrupted:
		s += " (interrupted)"
	case r.CutOff:
		s += " (cut off)"
	}
	return s
}

// notes are what the table's numbers do not say.
func (r Report) notes() []string {
	var notes []string
	lost, peak := false, 0
	for _, x := range r.Results {
		lost = lost || x.Lost > 0
		peak = max(peak, x.Peak)
	}
	if lost {
		notes = append(notes, fmt.Sprintf("* leaves out the work that was lost: it is not the time for all %s.", r.Operations))
	}
	for _, x := range r.Results {
		notes = append(notes, r.rowNotes(x)...)
	}
	if peak > 0 {
		notes = append(notes, fmt.Sprintf("By its own count the service never worked on more than %d requests at a time.", peak))
	}
	return append(notes, r.P99)
}

func (r Report) rowNotes(x measure.Result) []string {
	var notes []string
	if x.Interrupted {
		notes = append(notes, fmt.Sprintf("%s was interrupted: its row counts the %d %s that had come to an end.", x.Strategy, x.Operations, r.Operations))
	}
	if x.CutOff {
		notes = append(notes, fmt.Sprintf("%s was cut off by the time limit (--limit): what it had not done by then is lost.", x.Strategy))
	}
	if x.Lost > 0 && x.Reason != "" {
		notes = append(notes, fmt.Sprintf("%s lost %d of %d %s; what its caller mostly saw: %q.", x.Strategy, x.Lost, x.Operations, r.Operations, x.Reason))
	}
	if x.Silent > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d of the lost %s were reported to the client as %s.", x.Strategy, x.Silent, r.Operations, r.Done))
	}
	return notes
}

// Figures writes every figure into the directory, as SVG and as PNG, and
// returns the names of the files.
func (r Report) Figures(dir string) ([]string, error) {
	var files []string
	for _, f := range r.figures() {
		for _, write := range []func(string) (string, error){f.WriteSVG, f.WritePNG} {
			file, err := write(dir)
			if err != nil {
				return files, err
			}
			files = append(files, file)
		}
	}
	return files, nil
}
