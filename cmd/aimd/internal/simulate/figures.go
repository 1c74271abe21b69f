package simulate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

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
		story, families, runs, err := gallery()
		if err != nil {
			return err
		}
		count, drawn := progress.NewCount(c.ErrOrStderr(), "runs", runs), 0
		// draw runs scenarios and writes their figures. It leaves what it has when it is interrupted.
		draw := func(all []subject) (studies []experiment.Study) {
			for _, x := range all {
				if err != nil {
					break
				}
				var study experiment.Study
				study, err = x.run(c.Context(), count.Step)
				figures := chart.Figures(study)
				err = errors.Join(err, figure.Write(out, ".svg", figures), figure.Write(out, ".png", figures))
				studies, drawn = append(studies, study), drawn+len(figures)
			}
			return studies
		}
		told := draw(story)
		page := chart.Story(told, draw(families), cli.Line(c))
		count.Close()
		file := filepath.Join(out, "index.html")
		if failed := cli.WriteFile("out", file, page.HTML); failed != nil {
			return errors.Join(err, failed)
		}
		fmt.Fprintf(c.OutOrStdout(), "%d figures, as SVG and as PNG, and the page %s\n", drawn, file)
		return err
	}
	return c
}

// subject is a scenario to draw, or a family of scenarios, whose names are its sweep.
type subject struct {
	scenario.Scenario
	family []scenario.Scenario
}

// gallery returns all subjects, and how many runs they make.
func gallery() (story, families []subject, runs int, err error) {
	all, err := loadAll(scenario.Story())
	for _, s := range all {
		story = append(story, subject{Scenario: s})
		runs += experiment.Count(s)
	}
	for _, f := range scenario.Index.Families {
		members, failed := loadAll(f.Scenarios, fmt.Sprintf("runs=%d", lawRuns))
		err = errors.Join(err, failed)
		for i := range members {
			members[i].NoTraces = true // a family's figure has medians alone
			runs += experiment.Count(members[i])
		}
		families = append(families, subject{f.Scenario(lawRuns), members})
	}
	return story, families, runs, err
}

// run makes the runs of a subject.
func (x subject) run(ctx context.Context, ran func()) (experiment.Study, error) {
	if x.family == nil {
		return experiment.Run(ctx, x.Scenario, ran)
	}
	study := experiment.Study{Scenario: x.Scenario}
	for _, s := range x.family {
		one, err := experiment.Run(ctx, s, ran)
		for _, r := range one.Rows {
			r.At = []string{"scenario=" + s.Name}
			study.Rows = append(study.Rows, r)
		}
		if err != nil {
			return study, err
		}
	}
	return study, nil
}
