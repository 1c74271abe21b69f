package simulate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// run has the flags of aimd sim run and aimd sim sweep.
type run struct {
	seed       int
	runs       int
	set        []string
	strategies []string
	json       bool
	svg        string
	// show shows a study.
	show func(*cobra.Command, experiment.Study) error
	// changed: the scenarios are not run as they are written; unmet counts the expectations that are not met.
	changed bool
	unmet   int
}

func runCommand() *cobra.Command {
	var r run
	r.show = r.text
	c := cli.Help(help, &cobra.Command{
		Use: "run FILE|NAME...", Short: "Run scenarios and show what they cost",
		Args: someArgs("a file or the name of a built-in scenario"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return scenario.Builtins(), cobra.ShellCompDirectiveDefault // and files
		},
		RunE: func(c *cobra.Command, args []string) error { return r.run(c, args) },
	})
	r.flags(c, scenario.StrategyNames())
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
	f.StringVar(&r.svg, "svg", "", "write the figures as SVG into this `directory`")
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
	for _, name := range named(args) {
		s, err := load(name, settings)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *run) run(c *cobra.Command, names []string) error {
	scenarios, err := r.load(c, names)
	if err = errors.Join(err, cli.MakeDir("svg", r.svg)); err != nil {
		return cli.Usage(c, err)
	}
	for _, s := range scenarios {
		s.NoTraces = r.json && r.svg == "" // a list of medians needs no traces
		study, err := play(c, s)
		if err = errors.Join(err, r.show(c, study)); err != nil {
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
	var out string
	c := cli.Help(help, &cobra.Command{
		Use: "figures", Short: "Make all figures of the texts, and their page", Args: cli.NoArgs,
	})
	c.Flags().StringVar(&out, "out", "figures", "write into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := cli.MakeDir("out", out)
		if err != nil {
			return cli.Usage(c, err)
		}
		var story []experiment.Study
		drawn := 0
		for _, name := range scenario.Story() { // after an error the page has what is there
			s, wrong := load(name, nil)
			if err = wrong; err == nil {
				s, wrong := play(c, s)
				figures := chart.Figures(s)
				drawn, err = drawn+len(figures), errors.Join(wrong, chart.Write(out, figures))
				if len(s.Rows) > 0 {
					story = append(story, s)
				}
			}
			if err != nil {
				break
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
	line, ran := progress.Count(c.ErrOrStderr(), "runs of "+s.Name, experiment.Count(s))
	defer line.Close()
	return experiment.Run(c.Context(), s, ran)
}
