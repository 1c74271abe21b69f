package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/scenario"
)

const simFiguresLong = `Figures runs all built-in scenarios and writes every figure of the seeds as SVG and
PNG, and index.html: one page that needs nothing else and tells their story, seed by
seed: what they claim, our figure, and their numbers beside ours.

It takes less than a minute. Ctrl-C ends it with the page of what is known so far.`

func simFiguresCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "figures", Short: "Make all figures of the seeds, and the page that tells their story",
		Long: simFiguresLong, Example: "  aimd sim figures --out figures", Args: noArgs,
	}
	c.Flags().StringVar(&out, "out", "figures", "write into this `directory`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return usageError{fmt.Errorf("--out %s: want a directory that can be made or written to: %w", out, reason(err)), c.CommandPath()}
		}
		var scenarios []scenario.Scenario
		runs := 0
		for _, name := range scenario.Story() {
			s, err := loadScenario(name, nil)
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
		if failed := writeFile(page, chart.Story(studies, line(c)).HTML); failed != nil {
			return errors.Join(err, fmt.Errorf("--out: %w", failed))
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
			for _, write := range []func(string) (string, error){f.WriteSVG, f.WritePNG} {
				if _, err := write(dir); err != nil {
					return studies, files, fmt.Errorf("--out: %w", err)
				}
				files++
			}
		}
	}
	return studies, files, nil
}
