package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory",
		Long:    "Man writes a manual page for each command into the directory, for man(1).",
		Example: "  aimd man ~/.local/share/man/man1",
		Args:    OneArg("the directory for the pages"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return Usage(c, fmt.Errorf("%s: want a directory that can be made or written to: %w", args[0], Reason(err)))
			}
			prepareManual(c.Root())
			header := &doc.GenManHeader{Section: "1", Source: "aimd " + version(), Manual: "aimd"}
			return doc.GenManTree(c.Root(), header, args[0])
		},
	}
}

// prepareManual makes the texts blocks of Markdown, from which cobra makes the pages.
func prepareManual(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = "    " + strings.ReplaceAll(c.Long, "\n", "\n    ")
	for _, below := range c.Commands() {
		prepareManual(below)
	}
}
