package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/scenario"
)

const simLong = `Sim plays scenarios on virtual time: a service, its clients, and strategies that
retry. It shows in seconds what a strategy would do to a service, before you ship it.
What decides in a run is this library's own code: limiter, laws, backoffs, budgets.

A scenario is a YAML file that needs nothing but a server and clients:

  server:  {slots: 50, service: 500ms}
  clients: {operations: 2000, rate: 1000}

aimd sim schema shows every field, aimd sim explain FIELD one of them.`

const simExample = `  aimd sim list                           # the built-in scenarios
  aimd sim run seed4                      # one of them
  aimd sim run my.yaml --html page.html   # one of your own, with its figures
  aimd sim schema > fields.txt
  aimd sim figures --out figures          # all figures of the seeds, and their story`

func simCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "sim", Short: "Simulate what a strategy does to a service, on virtual time",
		Long: simLong, Example: simExample, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(simRunCommand(), simListCommand(), simShowCommand(), simFiguresCommand(), simSchemaCommand(), simExplainCommand())
	return c
}

func simListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the built-in scenarios", Args: noArgs,
		Long:    "List shows the built-in scenarios. Their names begin with that of the seed whose claim they hold.",
		Example: "  aimd sim list\n  aimd sim show seed4 > mine.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range scenario.Builtins() {
				s, err := loadScenario(name, nil)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.OutOrStdout(), "%-26s %s\n", name, s.Title)
			}
			return nil
		},
	}
}

func simShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the file of a built-in scenario, to begin one's own with",
		Example: "  aimd sim show seed4 > mine.yaml",
		Args:    oneArg("the name of a built-in scenario; aimd sim list shows them"),
		RunE: func(c *cobra.Command, args []string) error {
			_, text, err := scenario.Builtin(args[0])
			if err != nil {
				return usageError{err, c.CommandPath()}
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
}

// oneArg refuses all but one argument as an error of usage.
func oneArg(want string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%d arguments are not allowed, want %s", len(args), want), c.CommandPath()}
		}
		return nil
	}
}

func simSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Show every field of a scenario file", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return showFields(c.OutOrStdout(), scenario.Schema()) },
	}
}

func simExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain FIELD", Short: "Explain a field of a scenario file, with those below it",
		Example: "  aimd sim explain server.slots\n  aimd sim explain strategies.window\n  aimd sim explain jitter",
		Args:    oneArg("a field, like server.slots"),
		RunE: func(c *cobra.Command, args []string) error {
			fields, err := scenario.Explain(args[0])
			if err != nil {
				return usageError{err, c.CommandPath()}
			}
			return showFields(c.OutOrStdout(), fields)
		},
	}
}

// showFields writes each field with its kind, and below it what it means.
func showFields(w io.Writer, fields []scenario.Field) error {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Path + "  (" + f.Kind)
		if f.Default != "" {
			b.WriteString("; " + f.Default + " if left out")
		}
		b.WriteString(")\n")
		for line := range strings.Lines(text.WrapSoft(f.Doc, 84)) {
			b.WriteString("    " + strings.TrimRight(line, " \n") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
