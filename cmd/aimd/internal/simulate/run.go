package simulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/internal/sim"
)

// run has the flags of aimd sim run and aimd sim sweep.
type run struct {
	seed       int
	runs       int
	set        []string
	strategies []string
	json       bool
	svg        string
	// changed: the scenarios are not run as they are written; unmet counts the expectations that are not met.
	changed bool
	unmet   int
}

func runCommand() *cobra.Command {
	var r run
	c := cli.Help(help, &cobra.Command{
		Use: "run FILE|NAME...", Short: "Run scenarios and show what they cost",
		Args: someArgs("a file or the name of a built-in scenario"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return scenario.Builtins(), cobra.ShellCompDirectiveDefault // and files
		},
		RunE: func(c *cobra.Command, args []string) error { return r.run(c, args, r.text) },
	})
	r.flags(c, scenario.Names(sim.Strategies()))
	c.Flags().StringArrayVar(&r.set, "set", nil, "set a `field=value` of the scenarios, like server.slots=100; may be repeated")
	return c
}

func (r *run) flags(c *cobra.Command, strategies []string) {
	f := cli.Flags(c)
	f.Var(value.Whole(&r.seed, 0, math.MaxInt), "seed", "seed of the first run's randomness; the next run has the next")
	f.Var(value.Whole(&r.runs, 1, 10_000), "runs", "runs of each strategy; the table has the medians")
	f.Var(value.Names(&r.strategies, strategies), "strategies", "run these strategies, in the place of those of the scenarios and of their figures and expectations")
	cli.Complete(c, "strategies", strategies)
	f.BoolVar(&r.json, "json", false, "write JSON to standard output, an object to a line, instead of the table")
	f.Var(value.Given(&r.svg, "directory", "a directory that can be made or written to"), "svg", "write the figures as SVG into this `directory`")
}

func (r *run) load(c *cobra.Command, args []string) (all []scenario.Scenario, _ error) {
	var settings []string
	if len(r.strategies) > 0 {
		settings = []string{"strategies=[" + strings.Join(r.strategies, ",") + "]", "plot=[]", "expect=[]"}
	}
	settings = append(settings, r.set...)
	if c.Flags().Changed("seed") {
		settings = append(settings, fmt.Sprintf("seed=%d", r.seed))
	}
	if c.Flags().Changed("runs") {
		settings = append(settings, fmt.Sprintf("runs=%d", r.runs))
	}
	r.changed = len(settings) > 0
	for _, name := range scenario.Named(args...) {
		s, err := load(c.Context(), name, settings)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *run) run(c *cobra.Command, names []string, show func(*cobra.Command, experiment.Study) error) error {
	scenarios, err := r.load(c, names)
	if err = errors.Join(err, cli.MakeDir("svg", r.svg)); err != nil {
		return cli.Usage(c, err)
	}
	for _, s := range scenarios {
		s.NoTraces = r.json && r.svg == "" // a list of medians needs no traces
		study, err := play(c, s)
		if err = errors.Join(err, show(c, study)); err != nil {
			return err
		}
	}
	if r.unmet > 0 {
		return fmt.Errorf("%d of the scenarios' expectations are not met", r.unmet)
	}
	return nil
}

// text shows one study and writes its files. It counts the expectations that are not met.
func (r *run) text(c *cobra.Command, s experiment.Study) error {
	write := chart.Text
	if r.json {
		write = func(w io.Writer, s experiment.Study) error { return s.JSON(w) }
	}
	if err := write(c.OutOrStdout(), s); err != nil {
		return err
	}
	for _, warning := range s.Warnings() {
		fmt.Fprintf(c.ErrOrStderr(), "aimd: %s: %s\n", s.Name, warning)
	}
	for _, v := range s.Verdicts() {
		if !v.Met && !r.changed { // another scenario may show something else
			r.unmet++
			fmt.Fprintf(c.ErrOrStderr(), "aimd: %s: not as expected: %s\n", s.Name, v.Problem)
		}
	}
	if r.svg == "" {
		return nil
	}
	return chart.Write(r.svg, chart.Figures(s))
}

func figuresCommand() *cobra.Command {
	out := "figures"
	c := cli.Help(help, &cobra.Command{Use: "figures", Short: "Make all figures of the texts, and their page", Args: cli.NoArgs})
	c.Flags().Var(value.Given(&out, "directory", "a directory that can be made or written to"), "out", "write into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := cli.MakeDir("out", out)
		if err != nil {
			return cli.Usage(c, err)
		}
		var story []experiment.Study
		drawn := 0
		for names := scenario.Story(); len(names) > 0 && err == nil; names = names[1:] { // after an error the page has what is there
			s, wrong := load(c.Context(), names[0], nil)
			if err = wrong; err == nil {
				s, wrong := play(c, s)
				figures := chart.Figures(s)
				drawn, err = drawn+len(figures), errors.Join(wrong, chart.Write(out, figures))
				if len(s.Rows) > 0 {
					story = append(story, s)
				}
			}
		}
		file := filepath.Join(out, "index.html")
		var page bytes.Buffer
		if failed := cmp.Or(chart.Page(&page, story), cli.WriteFile(file, page.Bytes(), 0o644)); failed != nil {
			return errors.Join(err, fmt.Errorf("--out: %w", failed))
		}
		fmt.Fprintf(c.OutOrStdout(), "%d figures, and the page %s\n", drawn, file)
		return err
	}
	return c
}

// play makes the runs of a scenario, and shows how far they are.
func play(c *cobra.Command, s scenario.Scenario) (experiment.Study, error) {
	line, ran := progress.Count(c.ErrOrStderr(), "runs of "+s.Name, len(s.Points())*len(s.Strategies)*s.Runs)
	defer line.Close()
	return experiment.Run(c.Context(), s, ran)
}

// swept are the names of the services of the scenario sweep, in its order: four kinds, and three of each.
var swept = []string{
	"refuses", "refuses, long tail", "refuses, in a hurry", "queues", "queues, long tail", "queues, in a hurry",
	"a rate", "a rate, long tail", "a rate, in a hurry", "slows down", "slows down, long tail", "slows down, in a hurry",
}

func sweepCommand() *cobra.Command {
	var r run
	c := cli.Help(help, &cobra.Command{
		Use: "sweep", Short: "Show what each law gets done from a quarter to four times the load", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c, []string{"sweep"}, r.sweep) },
	})
	r.flags(c, append(scenario.Names(sim.Strategies()), "semaphore"))
	return c
}

// sweep shows the study of the scenario sweep, if it is whole.
func (r *run) sweep(c *cobra.Command, s experiment.Study) (err error) {
	names := scenario.Names(s.Strategies)
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
			Goodput: r.Ranges["watch_use"].Median.Value, P99: r.Ranges["watch_p99_s"].Median.Value, Sent: r.Ranges["watch_sent"].Median.Value,
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
	t := table.New(1, append([]string{"load"}, names...)...)
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
