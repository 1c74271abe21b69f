package cli

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help gives the command its texts, help/NAME.txt: the description, and the examples after "Examples:".
func Help(texts embed.FS, c *cobra.Command) *cobra.Command {
	text, err := texts.ReadFile("help/" + c.Name() + ".txt")
	if err != nil {
		panic(err) // it was not embedded
	}
	c.Long, c.Example, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
	return c
}

// Group is the command with others below it. Without such a command it shows its help.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// NoArgs refuses arguments.
func NoArgs(c *cobra.Command, args []string) error { return Usage(c, cobra.NoArgs(c, args)) }

// Flags are the command's own, to be shown in the order in which they are made.
func Flags(c *cobra.Command) *pflag.FlagSet {
	f := c.Flags()
	f.SortFlags = false
	return f
}

// NoDefault hides the defaults of flags that have no useful default.
func NoDefault(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).DefValue = ""
	}
}

// Complete lets the shell complete the flag's value, or each of several with commas between them.
func Complete(c *cobra.Command, flag string, words []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndex(begun, ",")+1]
		var all []cobra.Completion
		for _, w := range words {
			all = append(all, before+w)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // there is no such flag
	}
}
