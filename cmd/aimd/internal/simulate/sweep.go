package simulate

import (
	"cmp"
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
)

// swept are the names of the services of the scenario sweep, in its order: four kinds, and three of each.
var swept = []string{
	"refuses", "refuses, long tail", "refuses, in a hurry", "queues", "queues, long tail", "queues, in a hurry",
	"a rate", "a rate, long tail", "a rate, in a hurry", "slows down", "slows down, long tail", "slows down, in a hurry",
}

func sweepCommand() *cobra.Command {
	var r run
	r.show = r.sweep
	c := cli.Help(help, &cobra.Command{
		Use: "sweep", Short: "Show what each law gets done from a quarter to four times the load", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c, []string{"sweep"}) },
	})
	r.flags(c, append(scenario.StrategyNames(), "semaphore"))
	return c
}

// sweep shows the study of the scenario sweep, if it is whole.
func (r *run) sweep(c *cobra.Command, s experiment.Study) (err error) {
	var names []string
	for _, st := range s.Strategies {
		names = append(names, st.Name)
	}
	if len(s.Rows) < len(s.Points())*len(names) {
		return nil
	}
	all := loads(s)
	if r.svg != "" {
		err = chart.Write(r.svg, []chart.Figure{chart.Sweep(all, names)})
	}
	if !r.json {
		return errors.Join(err, showSweep(c.OutOrStdout(), all, names))
	}
	out := json.NewEncoder(c.OutOrStdout())
	for _, l := range lines(all, names) {
		err = errors.Join(err, out.Encode(l))
	}
	return err
}

// takes is the requests a second that each service of the scenario takes.
const takes = 320

// loads are the points of the study: by service, then by load, then by strategy.
func loads(s experiment.Study) (all []chart.Load) {
	for i, r := range s.Rows {
		l := chart.Load{
			Service: swept[i*len(swept)/len(s.Rows)], Strategy: r.Strategy.Name,
			Goodput: r.Of("watch_use").Median.Value, P99: r.Of("watch_p99_s").Median.Value, Sent: r.Of("watch_sent").Median.Value,
		}
		if _, err := fmt.Sscanf(r.At[2], "clients.rate=%g", &l.Load); err != nil {
			panic(err) // the scenario is our own
		}
		l.Load, l.Done = l.Load/takes, l.Goodput*takes*s.WatchFor.Seconds()
		all = append(all, l)
	}
	return all
}

// hull is how far below the best of all strategies a goodput may be that is still on the upper hull.
const hull = 0.02

// below are the points of the nth strategy that are not on the upper hull, each with the best one there.
func below(all []chart.Load, names []string, n int) (points, best []chart.Load) {
	for there := range slices.Chunk(all, len(names)) {
		most := slices.MaxFunc(there, func(a, b chart.Load) int { return cmp.Compare(a.Goodput, b.Goodput) })
		if there[n].Goodput < most.Goodput-hull {
			points, best = append(points, there[n]), append(best, most)
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

// lines are all points, and for each strategy the means and the number of points below the hull.
func lines(all []chart.Load, names []string) (lines []line) {
	for _, l := range slices.Concat(all, chart.Means(all)) {
		lines = append(lines, line{fmt.Sprintf("%s at %.3g", l.Service, l.Load), l.Strategy, l.Goodput, l.P99, l.Attempts(), 0, 0})
	}
	for n, name := range names {
		points, _ := below(all, names, n)
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
	for there := range slices.Chunk(chart.Means(all), len(names)) {
		row := []table.Cell{{Text: fmt.Sprintf("%.3g", there[0].Load)}}
		for _, l := range there {
			row = append(row, table.Cell{Text: fmt.Sprintf("%.2f", l.Goodput), Around: fmt.Sprintf("%.2f s, %.2f", l.P99, l.Attempts())})
		}
		t.Rows = append(t.Rows, row)
	}
	said := []string{"Operations done over what the service takes; below, the 99th percentile of their times, and attempts for each. Means of 12 services."}
	if n := slices.Index(names, "probe"); n >= 0 {
		points, best := below(all, names, n)
		for i, l := range points {
			said = append(said, fmt.Sprintf("probe is below the best: %s at %.3g, %.2f for %.2f of %s", l.Service, l.Load, l.Goodput, best[i].Goodput, best[i].Strategy))
		}
	}
	return errors.Join(t.Write(w), table.Paragraphs(w, append(said, chart.Probe)...))
}
