package tool

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every command line of README and docs is one: its command and its flags are there, and a scenario or a file that
// aimd sim shall run.
func TestTheCommandLinesOfTheDocs(t *testing.T) {
	tree, err := filepath.Abs("../../..")
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(aimd(t, "sim", "list").Stdout) {
		if f := strings.Fields(line); len(f) > 0 {
			names = append(names, f[0])
		}
	}
	pages, err := filepath.Glob(tree + "/docs/*.md")
	require.NoError(t, err)
	command, words := regexp.MustCompile("(?m)(?:`|^    )aimd ([^`\n]+)"), strings.NewReplacer("'", "", " URL", " https://api.example.com")
	found := 0
	for _, page := range append(pages, tree+"/README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(m[1], " #")
			root := &cobra.Command{}
			root.AddCommand(commands()...)
			cmd, args, err := root.Find(strings.Fields(words.Replace(line)))
			if assert.NoError(t, err, "%s: aimd %s", page, line) {
				if err := cmd.ParseFlags(args); err != nil { // a flag in a sentence may have no value
					assert.Regexp(t, "help requested|flag needs an argument", err.Error(), "%s: aimd %s", page, line)
				}
			}
			found++
			if cmd.Name() != "run" {
				continue
			}
			for _, name := range cmd.Flags().Args() {
				if strings.HasSuffix(name, ".yaml") {
					assert.FileExists(t, filepath.Join(tree, name), page)
				} else if name != strings.ToUpper(name) {
					assert.True(t, slices.ContainsFunc(names, func(n string) bool {
						ok, _ := path.Match(name, n)
						return ok || strings.HasPrefix(n, name+"-") // a group
					}), "%s: %s", page, name)
				}
			}
		}
	}
	require.Greater(t, found, 50)
}
