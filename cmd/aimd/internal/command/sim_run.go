package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const simRunLong = `Run plays each scenario with each of its strategies, over several seeds of
randomness, and shows the median of every measure, with the range below it.

Columns, where they apply:
  time        from the start until the last operation was done
  × optimum   time over that of a clairvoyant, who sends each request just when there is
              room for it
  given up    operations that were never done
  attempts    requests sent, in all and per operation
  p50, p99    how long half of the operations, and 99 of 100, took from their birth
  sent p99    the same from their first attempt
  peak        most requests in flight at a time
  Jain        fairness between clients, by Jain's index: 1 is perfectly fair
  recovery    from the end of the last outage until 90% of what is possible is served
              again; ">" where that had not happened by the end of the run
  in outage   requests sent while the service was down

With --json each line has scenario, strategy, runs, and makespan_s, span, attempts,
attempts_per_op, p50_s, p99_s, first_send_p99_s, peak_in_flight, jain, recovery_s and
outage_sent, each {"min":,"median":,"max":}, or null where it does not apply. What had
no end within the run counts as long as the run. In a sweep, "set" is the point.

What a scenario expects is checked: the status is 1 if something is not as it says.
With --set, --seed or --runs it is another scenario, and the status does not depend
on it. Ctrl-C ends it with what is known so far, and status 130.`

const simRunExample = `  aimd sim run seed4
  aimd sim run seed4 --set server.slots=100 --set 'strategies=[backoff, reno-0.9]' --set 'plot=[]' --set 'expect=[]'
  aimd sim run 'law-s4*'
  aimd sim run my.yaml --runs 101 --seed 1000
  aimd sim run seed0-outage --html outage.html
  aimd sim run seed4 --json | jq -c '[.strategy, .makespan_s.median, .attempts.median]'
  aimd sim run seed4-operations --csv data --png figures`

// simRun is what the flags of aimd sim run say.
type simRun struct {
	seed          uint64
	runs          int
	set           []string
	json          bool
	html          string
	csv, svg, png string
	// changed: the scenarios are not run as they are written.
	changed bool
}

func simRunCommand() *cobra.Command {
	var r simRun
	c := &cobra.Command{
		Use: "run FILE|NAME...", Short: "Run scenarios and show what they cost",
		Long: simRunLong, Example: simRunExample,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("want a file or the name of a built-in scenario; aimd sim list shows those"), c.CommandPath()}
			}
			return nil
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.Var(value.Natural(&r.seed), "seed", "seed of the first run's randomness; the next run has the next")
	f.Var(value.Whole(&r.runs, 1, 10_000), "runs", "runs of each strategy")
	f.StringArrayVar(&r.set, "set", nil, "set a `field=value` of the scenarios, like server.slots=100; may be repeated")
	f.BoolVar(&r.json, "json", false, "write one JSON object per strategy and line to standard output, in place of the table")
	f.StringVar(&r.html, "html", "", "write a page with tables and figures to this `file`")
	f.StringVar(&r.csv, "csv", "", "write all measures, and the courses over time, as CSV into this `directory`")
	f.StringVar(&r.svg, "svg", "", "write the figures as SVG into this `directory`")
	f.StringVar(&r.png, "png", "", "write the figures as PNG into this `directory`")
	c.RunE = func(c *cobra.Command, args []string) error {
		scenarios, err := r.load(c, args)
		if err != nil {
			return usageError{err, c.CommandPath()}
		}
		if err := r.check(); err != nil {
			return usageError{err, c.CommandPath()}
		}
		return r.run(c, scenarios)
	}
	return c
}

// load reads the scenarios, with the flags on top.
func (r *simRun) load(c *cobra.Command, args []string) ([]scenario.Scenario, error) {
	settings := slices.Clone(r.set)
	if c.Flags().Changed("seed") {
		settings = append(settings, fmt.Sprintf("seed=%d", r.seed))
	}
	if c.Flags().Changed("runs") {
		settings = append(settings, fmt.Sprintf("runs=%d", r.runs))
	}
	r.changed = len(settings) > 0
	var all []scenario.Scenario
	for _, a := range args {
		names := scenario.Named(a)
		if len(names) == 0 {
			names = []string{a}
		}
		for _, name := range names {
			s, err := loadScenario(name, settings)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// loadScenario reads a built-in scenario or a file.
func loadScenario(name string, settings []string) (scenario.Scenario, error) {
	if slices.Contains(scenario.Builtins(), name) {
		file, text, err := scenario.Builtin(name)
		if err != nil {
			return scenario.Scenario{}, err
		}
		return scenario.Parse(file, text, settings...)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "./") {
			return scenario.Scenario{}, fmt.Errorf("%s: there is no such file, and no built-in scenario of that name; aimd sim list shows those", name)
		}
		return scenario.Scenario{}, fmt.Errorf("%s: %w", name, reason(err))
	}
	return scenario.Parse(name, text, settings...)
}

// check finds out before all the work whether its fruits can be written.
func (r *simRun) check() error {
	for _, d := range []struct{ flag, dir string }{{"csv", r.csv}, {"svg", r.svg}, {"png", r.png}} {
		if d.dir == "" {
			continue
		}
		if err := os.MkdirAll(d.dir, 0o755); err != nil {
			return fmt.Errorf("--%s %s: want a directory that can be made or written to: %w", d.flag, d.dir, reason(err))
		}
	}
	return checkPage(r.html)
}

// run runs the scenarios one after the other and shows each as soon as it is there.
func (r *simRun) run(c *cobra.Command, scenarios []scenario.Scenario) error {
	var studies []experiment.Study
	var failed error
	unmet := 0
	for _, s := range scenarios {
		count := progress.NewCount(c.ErrOrStderr(), "runs of "+s.Name, experiment.Count(s))
		study, err := experiment.Run(c.Context(), s, count.Step)
		count.Close()
		studies = append(studies, study)
		n, shown := r.show(c, study)
		unmet += n
		if failed = errors.Join(err, shown); failed != nil {
			break
		}
	}
	if r.html != "" {
		p := chart.Page{Title: "aimd sim", Chapters: []chart.Chapter{{Studies: studies}}, Command: line(c) + " " + strings.Join(c.Flags().Args(), " ")}
		if len(studies) == 1 && studies[0].Title != "" {
			p.Title = studies[0].Title
		}
		if err := writeFile(r.html, p.HTML); err != nil {
			failed = errors.Join(failed, fmt.Errorf("--html: %w", err))
		}
	}
	switch {
	case failed != nil:
		return failed
	case unmet > 0 && !r.changed:
		return fmt.Errorf("%d of the scenarios' expectations are not met", unmet)
	}
	return nil
}

// show shows one study and writes its files. It returns how many expectations are
// not met.
func (r *simRun) show(c *cobra.Command, s experiment.Study) (unmet int, err error) {
	out := c.OutOrStdout()
	if r.json {
		err = s.JSON(out)
	} else {
		err = chart.Text(out, s)
	}
	if err != nil {
		return 0, err
	}
	for _, warning := range s.Warnings() {
		fmt.Fprintf(c.ErrOrStderr(), "aimd: %s: %s\n", s.Name, warning)
	}
	for _, v := range s.Verdicts() {
		if !v.Met {
			unmet++
			fmt.Fprintf(c.ErrOrStderr(), "aimd: %s: not as expected: %s\n", s.Name, v.Problem)
		}
	}
	return unmet, r.files(s)
}

func (r *simRun) files(s experiment.Study) error {
	if r.csv != "" {
		if err := writeCSV(r.csv, s); err != nil {
			return fmt.Errorf("--csv: %w", err)
		}
	}
	if r.svg == "" && r.png == "" {
		return nil
	}
	for _, f := range chart.Figures(s) {
		if r.svg != "" {
			if _, err := f.WriteSVG(r.svg); err != nil {
				return fmt.Errorf("--svg: %w", err)
			}
		}
		if r.png != "" {
			if _, err := f.WritePNG(r.png); err != nil {
				return fmt.Errorf("--png: %w", err)
			}
		}
	}
	return nil
}

// unfit is what a file's name should not have.
var unfit = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// writeCSV writes the measures and, without a sweep, the courses of each strategy.
func writeCSV(dir string, s experiment.Study) error {
	if err := writeFile(filepath.Join(dir, s.Name+".csv"), s.CSV); err != nil {
		return err
	}
	for _, r := range s.Rows {
		if len(r.At) > 0 {
			continue
		}
		name := s.Name + "-" + unfit.ReplaceAllLiteralString(r.Strategy.Name, "-") + ".csv"
		if err := writeFile(filepath.Join(dir, name), func(w io.Writer) error { return r.TracesCSV(w) }); err != nil {
			return err
		}
	}
	return nil
}
