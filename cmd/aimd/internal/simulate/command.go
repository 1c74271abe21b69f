// Package simulate is aimd sim: it plays scenarios on virtual time and shows what they cost.
package simulate

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
	"github.com/aimd-go/aimd/internal/sim"
)

//go:embed help
var help embed.FS

// Command is aimd sim.
func Command() *cobra.Command {
	return cli.Group(cli.Help(help, &cobra.Command{Use: "sim", Short: "Simulate what a strategy does to a service, on virtual time"}),
		runCommand(), sweepCommand(), listCommand(), showCommand(), figuresCommand(), schemaCommand())
}

func listCommand() *cobra.Command {
	return cli.Help(help, &cobra.Command{
		Use: "list", Short: "List the built-in scenarios", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			out := c.OutOrStdout()
			title, gap := "", ""
			for _, g := range slices.Concat(scenario.Index.Chapters, scenario.Index.Others) {
				before := title
				if title = g.Title; g.Source.Title != "" {
					title = fmt.Sprintf("%s (%s, %s)", g.Source.Title, g.Source.Author, g.Source.Year)
				}
				if title != before { // a text may have two chapters
					fmt.Fprintln(out, gap+terminal.Cut(title, terminal.Columns(out)))
					gap = "\n"
				}
				for _, name := range g.Scenarios {
					s, err := load(c.Context(), name, nil)
					if err != nil {
						return err
					}
					fmt.Fprintln(out, terminal.Cut(fmt.Sprintf("%-29s %s", s.Name, s.Title), terminal.Columns(out)))
				}
			}
			return nil
		},
	})
}

func showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME...", Short: "Show the files of built-in scenarios, to begin your own with",
		Example: "  aimd sim show window-vs-backoff > mine.yaml\n  aimd sim show 'law-uplink-*'",
		Args:    someArgs("the name of a built-in scenario"), ValidArgs: scenario.Builtins(),
		RunE: func(c *cobra.Command, args []string) error {
			var files [][]byte
			for _, name := range scenario.Named(args...) {
				_, text, err := scenario.Builtin(name)
				if err != nil {
					return cli.Usage(c, err)
				}
				files = append(files, text)
			}
			_, err := c.OutOrStdout().Write(bytes.Join(files, []byte("---\n")))
			return err
		},
	}
}

// someArgs wants at least one argument.
func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return cli.Usage(c, fmt.Errorf("want %s; aimd sim list shows those", what))
	}
}

// load reads a built-in scenario or a file.
func load(ctx context.Context, name string, settings []string) (scenario.Scenario, error) {
	if file, text, err := scenario.Builtin(name); err == nil {
		s, err := scenario.Parse(file, text, settings...)
		if err == nil && !slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, "strategies") }) {
			s = withLaws(s, sim.Laws()[3:]) // those of the user's program come after ours
		}
		return s, err
	}
	text, err := cli.Await(ctx, func() ([]byte, error) {
		f, err := os.Open(name)
		defer f.Close()
		text, wrong := io.ReadAll(io.LimitReader(f, scenario.MaxSize+1)) // of an endless file the beginning, which is too long
		return text, cmp.Or(err, wrong)
	})
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "./") {
		return scenario.Scenario{}, fmt.Errorf(`"%s": there is no such file, and no built-in scenario of that name; aimd sim list shows those`, name)
	}
	if err != nil {
		return scenario.Scenario{}, fmt.Errorf("%s: %w", name, cli.Reason(err))
	}
	return scenario.Parse(name, text, settings...)
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Show every field of a scenario file", Args: cli.NoArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), scenario.Fields) },
	}
}

// withLaws adds the laws to the strategies of a built-in scenario and to its figures, but for maps, which compare
// two. A scenario of all strategies has them already.
func withLaws(s scenario.Scenario, laws []string) scenario.Scenario {
	s.Strategies, s.Plot = slices.Clone(s.Strategies), slices.Clone(s.Plot)
	for _, name := range laws {
		if slices.ContainsFunc(s.Strategies, func(st sim.Strategy) bool { return st.Name == name }) {
			continue
		}
		strategy, _ := sim.StrategyNamed(name)
		s.Strategies = append(s.Strategies, strategy)
		for i, p := range s.Plot {
			if len(p.Strategies) > 0 && p.Kind != scenario.Map {
				s.Plot[i].Strategies = append(p.Strategies[:len(p.Strategies):len(p.Strategies)], name)
			}
		}
	}
	return s
}
