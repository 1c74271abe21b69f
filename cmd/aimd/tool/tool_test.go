package tool

import (
	_ "embed"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

func aimd(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return clitest.Run(t, commands(), args...)
}

// each calls f with the words of every command line that has a help.
func each(t *testing.T, f func(t *testing.T, words []string)) {
	var walk func(words []string, below []*cobra.Command)
	walk = func(words []string, below []*cobra.Command) {
		t.Run(strings.Join(words, " "), func(t *testing.T) { f(t, words) })
		for _, c := range below {
			walk(append(words[:len(words):len(words)], c.Name()), c.Commands())
		}
	}
	walk(nil, commands())
}

// The text of -h fits 80 columns.
func TestHelpFitsAndTeaches(t *testing.T) {
	each(t, func(t *testing.T, words []string) {
		got := aimd(t, append(words, "-h")...)
		require.Zero(t, got.Status, got.Stderr)
		assert.Contains(t, got.Stdout, "aimd "+strings.Join(words, " "))
		for line := range strings.Lines(got.Stdout) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
		}
	})
	got := aimd(t)
	assert.Equal(t, aimd(t, "-h").Stdout, got.Stdout)
	assert.Contains(t, got.Stdout, "Examples:\n  aimd demo")
	assert.Contains(t, got.Stdout, "completion")
}

func TestCompletionKnowsValues(t *testing.T) {
	for line, want := range map[string][]string{
		"sim run ":           []string{"window-vs-backoff", "crash-outage"},
		"sim show ":          {"sync-start"},
		"demo --only ":       {"sdk-default", "reno", "probe"},
		"demo --only tahoe,": {"tahoe,reno"},
		"demo api --only ":   {"plain"},
		"retry --form ":      {"compound", "syncmusings"},
		"retry --jitter ":    {"full"},
		"upload --law ":      {"probe", "reno", "tahoe"},
	} {
		got := aimd(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		require.Zero(t, got.Status, got.Stderr)
		for _, w := range want {
			assert.Contains(t, "\n"+got.Stdout, "\n"+w+"\n", line)
		}
	}
}

//go:embed testdata/usage.txt
var usage string

// An error of the command line names the word that is wrong and what is allowed.
func TestBadCommandLines(t *testing.T) {
	var got clitest.Outcome
	for line := range strings.Lines(usage) {
		line = strings.TrimSuffix(line, "\n")
		if want, part := strings.CutPrefix(line, "\t"); part {
			assert.Contains(t, got.Stderr, want)
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		got = aimd(t, strings.Fields(line)...)
		assert.Equal(t, cli.WrongUsage, got.Status, line)
		assert.Regexp(t, `\nTry: aimd.* -h\n$`, got.Stderr, line)
		assert.Empty(t, got.Stdout, line)
		assert.Empty(t, clitest.Files(t), line)
	}
}

// The program of the example, run as its user would: its law is in the tables and figures of the built-in scenarios, and
// wherever a law can be named.
func TestALawOfOnesOwn(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	mine := func(args ...string) string {
		c := exec.CommandContext(t.Context(), binary, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "AIMD_EXAMPLE=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	assert.Contains(t, mine("sim", "list"), "\nlaw-50-slots ")
	table := mine("sim", "run", "law-50-slots", "window-vs-backoff", "--runs", "1", "--set", "expect=[]", "--svg", "figures")
	assert.Equal(t, 2, strings.Count(table, "│ halved "), table)
	figures, err := filepath.Glob(filepath.Join(dir, "figures", "*.svg"))
	require.NoError(t, err)
	assert.NotEmpty(t, figures)
	assert.Contains(t, mine("sim", "run", "law-50-slots", "--runs", "1", "--strategies", "halved,reno-0.5", "--json"), `"strategy":"halved"`)
	assert.Contains(t, mine("demo", "--json", "--only", "halved", "--quick", "--objects", "20", "--service", "1ms", "--goroutines", "4"), `"strategy":"halved"`)
	for _, command := range []string{"upload --law ", "demo --only ", "demo api --only "} {
		assert.Contains(t, mine(append([]string{"__complete"}, strings.Split(command, " ")...)...), "halved\n", command)
	}
}

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
