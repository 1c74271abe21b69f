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

func figuresCommand() *cobra.Command {
	var out string
	c := cli.Help(help, &cobra.Command{
		Use: "figures", Short: "Make all figures of the five texts, and the page of their story", Args: cli.NoArgs,
	})
	c.Flags().StringVar(&out, "out", "figures", "write into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cli.MakeDir("out", out); err != nil {
			return cli.Usage(c, err)
		}
		var scenarios []scenario.Scenario
		runs := 0
		for _, name := range scenario.Story() {
			s, err := load(name, nil)
			if err != nil {
				return err
			}
			scenarios = append(scenarios, s)
			runs += experiment.Count(s)
		}
		count := progress.NewCount(c.ErrOrStderr(), "runs", runs)
		studies, files, err := figures(c.Context(), scenarios, out, count)
		count.Close()
		page := filepath.Join(out, "index.html")
		if failed := cli.WriteFile("out", page, chart.Story(studies, cli.Line(c)).HTML); failed != nil {
			return errors.Join(err, failed)
		}
		fmt.Fprintf(c.OutOrStdout(), "%d figures, as SVG and as PNG, and the page %s\n", files/2, page)
		return err
	}
	return c
}

// figures runs the scenarios and writes each one's figures as soon as it is there. It
// returns what it has when it is interrupted.
func figures(ctx context.Context, scenarios []scenario.Scenario, dir string, count *progress.Count) (studies []experiment.Study, files int, err error) {
	for _, s := range scenarios {
		study, err := experiment.Run(ctx, s, count.Step)
		studies = append(studies, study)
		if err != nil {
			return studies, files, err
		}
		for _, f := range chart.Figures(study) {
			written, err := f.Write(dir, figure.SVG, figure.PNG)
			if err != nil {
				return studies, files, fmt.Errorf("--out: %w", err)
			}
			files += len(written)
		}
	}
	return studies, files, nil
}
