package simulate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// lawRuns is how many runs of each scenario of a law are made: their medians hardly
// move with more, and the figures are not what judges.
const lawRuns = 3

func figuresCommand() *cobra.Command {
	var out string
	c := cli.Help(help, &cobra.Command{
		Use: "figures", Short: "Make all figures of the texts and the laws, and their page", Args: cli.NoArgs,
	})
	c.Flags().StringVar(&out, "out", "figures", "write into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cli.MakeDir("out", out); err != nil {
			return cli.Usage(c, err)
		}
		g := gallery{dir: out}
		if err := g.load(); err != nil {
			return err
		}
		g.count = progress.NewCount(c.ErrOrStderr(), "runs", g.runs)
		err := g.draw(c.Context())
		g.count.Close()
		page := filepath.Join(out, "index.html")
		if failed := cli.WriteFile("out", page, chart.Story(g.studies, g.drawn, cli.Line(c)).HTML); failed != nil {
			return errors.Join(err, failed)
		}
		fmt.Fprintf(c.OutOrStdout(), "%d figures, as SVG and as PNG, and the page %s\n", g.files/2, page)
		return err
	}
	return c
}

// gallery is all figures, with the scenarios and studies for them.
type gallery struct {
	dir string
	// story are the scenarios of the texts, laws the scenarios of each family.
	story []scenario.Scenario
	laws  [][]scenario.Scenario
	// runs is the number of runs to make; count counts the runs that were made.
	runs  int
	count *progress.Count
	// studies, drawn and files are the results so far.
	studies []experiment.Study
	drawn   []experiment.Study
	files   int
}

// load reads the scenarios.
func (g *gallery) load() (err error) {
	if g.story, err = loadAll(scenario.Story()); err != nil {
		return err
	}
	for _, f := range scenario.Families() {
		all, err := loadAll(f.Scenarios, fmt.Sprintf("runs=%d", lawRuns))
		if err != nil {
			return err
		}
		g.laws = append(g.laws, all)
	}
	for _, s := range slices.Concat(append(g.laws, g.story)...) {
		g.runs += experiment.Count(s)
	}
	return nil
}

// draw runs the scenarios and writes each one's figures, and each family's, as soon as
// it is there. It leaves what it has when it is interrupted.
func (g *gallery) draw(ctx context.Context) error {
	for _, s := range g.story {
		study, err := experiment.Run(ctx, s, g.count.Step)
		g.studies = append(g.studies, study)
		if err = errors.Join(err, g.write(chart.Figures(study)...)); err != nil {
			return err
		}
	}
	for i, f := range scenario.Families() {
		family := experiment.Study{Scenario: f.Scenario(lawRuns)}
		for _, s := range g.laws[i] {
			s.Trace.Off = true // a family's figure has medians alone
			study, err := experiment.Run(ctx, s, g.count.Step)
			if err != nil {
				return err
			}
			for _, r := range study.Rows {
				r.At = []string{"scenario=" + s.Name}
				family.Rows = append(family.Rows, r)
			}
		}
		g.drawn = append(g.drawn, family)
		if err := g.write(chart.Figures(family)...); err != nil {
			return err
		}
	}
	return nil
}

func (g *gallery) write(figures ...figure.Figure) error {
	written, err := figure.Write("out", g.dir, figures, figure.SVG, figure.PNG)
	g.files += len(written)
	return err
}
