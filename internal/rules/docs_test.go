package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// What docs/parts.md and the README's "In production" show is from Examples, line for
// line, so that it compiles.
func TestTheCodeInTheDocsIsFromExamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "parts.md"))
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, production, found := strings.Cut(string(readme), "## In production")
	require.True(t, found)
	page = append(page, production...)
	var examples []string
	require.NoError(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var text []byte
			text, err = os.ReadFile(path)
			examples = append(examples, unindented(string(text)))
		}
		return err
	}))
	blocks := goBlock.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(blocks), 10)
	for _, block := range blocks {
		for _, piece := range strings.Split(unindented(block[1]), "\n...\n") {
			assert.Condition(t, func() bool {
				for _, e := range examples {
					if strings.Contains(e, strings.Trim(piece, "\n")+"\n") {
						return true
					}
				}
				return false
			}, "no Example has these lines:\n%s", piece)
		}
	}
}

// Every link of the pages that users read leads to something that is there.
func TestTheLinksOfTheDocsLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/parts.md", "docs/sources.md", "docs/design.md", "docs/laws.md", "docs/recipes.md", "benchmarks/README.md"} {
		text, err := os.ReadFile(filepath.FromSlash(page))
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1])))
			assert.NoError(t, err, page)
		}
	}
}

// The import table in docs/design.md is mayImport, without what is internal.
func TestTheImportTableOfTheDesign(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "design.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "### Who may import whom")
	require.True(t, found)
	name := regexp.MustCompile("`([a-z]+)`|the (root)")
	told := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*) \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		var imports []string
		for _, m := range name.FindAllStringSubmatch(row[2], -1) {
			imports = append(imports, m[1])
		}
		for _, m := range name.FindAllStringSubmatch(row[1], -1) {
			told[m[1]] = imports
		}
	}
	for pkg, imports := range mayImport {
		if strings.HasPrefix(pkg, "internal/") {
			continue
		}
		imports = slices.DeleteFunc(slices.Clone(imports), func(p string) bool { return strings.HasPrefix(p, "internal/") })
		assert.Contains(t, told, pkg)
		assert.ElementsMatch(t, imports, told[pkg], "%q", pkg)
	}
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}
