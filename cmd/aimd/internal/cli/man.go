package cli

import (
	"fmt"
	"os"
	"regexp"
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

// prepareManual makes the texts the Markdown that the pages are made from.
func prepareManual(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = markdown(c.Long)
	for _, below := range c.Commands() {
		prepareManual(below)
	}
}

// column is the first line of a description in two columns.
var column = regexp.MustCompile(`^\w+ {2,}\S`)

// markdown keeps indented lines and columns as they are.
func markdown(text string) string {
	var b strings.Builder
	block := false
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "  ") || column.MatchString(line)
		if indented != block && strings.TrimSpace(line) != "" {
			block = indented
			b.WriteString("\n")
		}
		if indented {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}
