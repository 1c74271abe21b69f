package simulate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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

// run has the flags of aimd sim run.
type run struct {
	seed       int
	runs       int
	set        []string
	strategies []string
	json       bool
	svg        string
	// changed: the scenarios are not run as they are written.
	changed bool
}

func runCommand() *cobra.Command {
	var r run
	c := cli.Help(help, &cobra.Command{
		Use: "run FILE|NAME...", Short: "Run scenarios and show what they cost",
		Args: someArgs("a file or the name of a built-in scenario"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return scenario.Builtins(), cobra.ShellCompDirectiveDefault // and files
		},
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&r.seed, 0, math.MaxInt), "seed", "seed of the first run's randomness; the next run has the next")
	f.Var(value.Whole(&r.runs, 1, 10_000), "runs", "runs of each strategy")
	f.Var(value.Names(&r.strategies, scenario.StrategyNames()), "strategies", "run these strategies, in the place of those of the scenarios and of their figures and expectations")
	cli.Complete(c, "strategies", scenario.StrategyNames())
	f.StringArrayVar(&r.set, "set", nil, "set a `field=value` of the scenarios, like server.slots=100; may be repeated")
	f.BoolVar(&r.json, "json", false, "write one JSON object per strategy and line to standard output, instead of the table")
	f.StringVar(&r.svg, "svg", "", "write the figures as SVG into this `directory`")
	c.RunE = func(c *cobra.Command, args []string) error {
		scenarios, err := r.load(c, args)
		if err = errors.Join(err, cli.MakeDir("svg", r.svg)); err != nil {
			return cli.Usage(c, err)
		}
		return r.run(c, scenarios)
	}
	return c
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

func (r *run) run(c *cobra.Command, scenarios []scenario.Scenario) error {
	unmet := 0
	for _, s := range scenarios {
		s.NoTraces = r.json && r.svg == "" // a list of medians needs no traces
		study, err := play(c, s)
		n, shown := r.show(c, study)
		unmet += n
		if err = errors.Join(err, shown); err != nil {
			return err
		}
	}
	if unmet > 0 {
		return fmt.Errorf("%d of the scenarios' expectations are not met", unmet)
	}
	return nil
}

// show shows one study and writes its files. It returns how many expectations are not met.
func (r *run) show(c *cobra.Command, s experiment.Study) (unmet int, err error) {
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
		if !v.Met && !r.changed { // another scenario may show something else
			unmet++
			fmt.Fprintf(c.ErrOrStderr(), "aimd: %s: not as expected: %s\n", s.Name, v.Problem)
		}
	}
	if r.svg == "" {
		return unmet, nil
	}
	return unmet, chart.Write(r.svg, chart.Figures(s))
}

func figuresCommand() *cobra.Command {
	var out string
	c := cli.Help(help, &cobra.Command{
		Use: "figures", Short: "Make all figures of the texts, and their page", Args: cli.NoArgs,
	})
	c.Flags().StringVar(&out, "out", "figures", "write into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cli.MakeDir("out", out); err != nil {
			return cli.Usage(c, err)
		}
		story, err := studies(c)
		drawn := 0
		for _, s := range story {
			figures := chart.Figures(s)
			drawn += len(figures)
			err = errors.Join(err, chart.Write(out, figures))
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

// studies runs the scenarios of the texts. After an error it returns what it has.
func studies(c *cobra.Command) (story []experiment.Study, err error) {
	for _, name := range scenario.Story() {
		s, err := load(name, nil)
		if err != nil {
			return story, err
		}
		study, err := play(c, s)
		if len(study.Rows) > 0 {
			story = append(story, study)
		}
		if err != nil {
			return story, err
		}
	}
	return story, nil
}

// play makes the runs of a scenario, and shows how far they are.
func play(c *cobra.Command, s scenario.Scenario) (experiment.Study, error) {
	line, ran := progress.Count(c.ErrOrStderr(), "runs of "+s.Name, experiment.Count(s))
	defer line.Close()
	return experiment.Run(c.Context(), s, ran)
}
