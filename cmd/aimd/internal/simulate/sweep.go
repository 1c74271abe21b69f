package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/internal/sim"
)

// swept are the names of the services of the scenario sweep, in its order: kinds, and three of each.
var swept = []string{
	"refuses", "refuses, long tail", "refuses, in a hurry", "queues", "queues, long tail", "queues, in a hurry",
	"a rate", "a rate, long tail", "a rate, in a hurry", "slows down", "slows down, long tail", "slows down, in a hurry",
}

func sweepCommand() *cobra.Command {
	var names []string
	var runs int
	var asJSON bool
	var svg string
	s, failed := load("sweep", nil)
	known := strategies(s)
	c := cli.Help(help, &cobra.Command{
		Use: "sweep", Short: "Show what each law gets done from a quarter to four times the load", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Names(&names, known), "strategies", "play these strategies")
	cli.Complete(c, "strategies", known)
	f.Var(value.Whole(&runs, 1, 1000), "runs", "runs of each strategy at each point; the table has the medians")
	f.BoolVar(&asJSON, "json", false, "write one JSON object for each service, load and strategy and line, instead of the table")
	f.StringVar(&svg, "svg", "", "write the figure sweep.svg into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := errors.Join(failed, cli.MakeDir("svg", svg)); err != nil {
			return cli.Usage(c, err)
		}
		if len(names) > 0 {
			s.Strategies = slices.DeleteFunc(s.Strategies, func(st sim.Strategy) bool { return !slices.Contains(names, st.Name) })
		}
		s.Runs = max(s.Runs, runs)
		study, err := play(c, s)
		if err != nil {
			return err
		}
		all := loads(study)
		if svg != "" {
			err = chart.Write(svg, []chart.Figure{chart.Sweep(all, strategies(s))})
		}
		if !asJSON {
			return errors.Join(err, showSweep(c.OutOrStdout(), all, strategies(s)))
		}
		out := json.NewEncoder(c.OutOrStdout())
		for _, l := range lines(all, strategies(s)) {
			err = errors.Join(err, out.Encode(l))
		}
		return err
	}
	return c
}

func strategies(s scenario.Scenario) (names []string) {
	for _, st := range s.Strategies {
		names = append(names, st.Name)
	}
	return names
}

// loads are the points of the study.
func loads(s experiment.Study) (all []chart.Load) {
	for _, r := range s.Rows {
		i := slices.IndexFunc(s.Sweep[0].Values, func(v string) bool { return slices.Equal(s.Sweep[0].At(v), r.At[:2]) })
		var rate float64
		if _, err := fmt.Sscanf(r.At[2], "clients.rate=%g", &rate); i < 0 || err != nil {
			panic("simulate: the scenario sweep is not as its command wants it")
		}
		l := chart.Load{
			Service: swept[i], Kind: i / 3, Strategy: r.Strategy.Name, Load: rate / takes,
			Goodput: r.Of("watch_use").Median.Value, P99: r.Of("watch_p99_s").Median.Value, Sent: r.Of("watch_sent").Median.Value,
		}
		l.Done = l.Goodput * takes * s.WatchFor.Seconds()
		all = append(all, l)
	}
	return all
}

// takes is the requests a second that each service of the scenario takes.
const takes = 320

// hull is how far below the best of all strategies a goodput may be that is still on the upper hull.
const hull = 0.02

// below are the points of a strategy that are not on the upper hull, each with the best one there.
func below(all []chart.Load, strategy string) (points, best []chart.Load) {
	for _, l := range all {
		if l.Strategy != strategy {
			continue
		}
		most := l
		for _, other := range all {
			if other.Service == l.Service && other.Load == l.Load && other.Goodput > most.Goodput {
				most = other
			}
		}
		if l.Goodput < most.Goodput-hull {
			points, best = append(points, l), append(best, most)
		}
	}
	return points, best
}

// line is a point for scripts, or a mean over the services, or the number of points below the hull.
type line struct {
	Scenario string  `json:"scenario"`
	Strategy string  `json:"strategy"`
	Goodput  float64 `json:"goodput"`
	P99      float64 `json:"p99_s"`
	Attempts float64 `json:"attempts"`
	Below    int     `json:"below"`
	Of       int     `json:"of"`
}

func newLine(l chart.Load) line {
	return line{fmt.Sprintf("%s at %.3g", l.Service, l.Load), l.Strategy, l.Goodput, l.P99, l.Sent / max(1, l.Done), 0, 0}
}

// lines are all points, and for each strategy the means and the number of points below the hull.
func lines(all []chart.Load, names []string) (lines []line) {
	for _, l := range append(all[:len(all):len(all)], chart.Means(all)...) {
		lines = append(lines, newLine(l))
	}
	for _, name := range names {
		points, _ := below(all, name)
		lines = append(lines, line{Scenario: "below the best", Strategy: name, Below: len(points), Of: len(all) / len(names)})
	}
	return lines
}

// showSweep writes the means over the services, and where the law of aimd.New is not the best.
func showSweep(w io.Writer, all []chart.Load, names []string) error {
	t := table.Table{Columns: []table.Column{{Head: "load", Left: true}}}
	for _, name := range names {
		t.Columns = append(t.Columns, table.Column{Head: name})
	}
	for i, l := range chart.Means(all) {
		if i%len(names) == 0 {
			t.Rows = append(t.Rows, []table.Cell{{Text: fmt.Sprintf("%.3g", l.Load)}})
		}
		row, x := &t.Rows[len(t.Rows)-1], newLine(l)
		*row = append(*row, table.Cell{Text: fmt.Sprintf("%.2f", x.Goodput), Around: fmt.Sprintf("%.2f s, %.2f", x.P99, x.Attempts)})
	}
	failed := errors.Join(t.Write(w), table.Paragraphs(w,
		"Operations done over what the service takes; below, the 99th percentile of their times, and attempts for each. Means of 12 services."))
	points, best := below(all, "probe")
	for i, l := range points {
		_, err := fmt.Fprintf(w, "probe is below the best: %s at %.3g, %.2f for %.2f of %s\n", l.Service, l.Load, l.Goodput, best[i].Goodput, best[i].Strategy)
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, table.Paragraphs(w, chart.Probe))
}
