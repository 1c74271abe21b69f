package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/parts.md", "docs/sources.md", "docs/design.md", "docs/laws.md", "docs/quota.md", "docs/recipes.md", "docs/any-language.md", "benchmarks/README.md"} {
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
	name := regexp.MustCompile("`([a-z0-9]+)`|the (root)")
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

var (
	// quote is a quotation within a comment; cut is where it leaves something out.
	quote = regexp.MustCompile(`"([^"]+)"`)
	cut   = regexp.MustCompile(`\.\.\.|\[[^\]]*\]`)
	// ofOurs names a document of ours before a quote, ofOthers a text of somebody else.
	ofOurs   = regexp.MustCompile(`(docs/[a-z]+\.md|README\.md|README)[^"]{0,40}"`)
	ofOthers = regexp.MustCompile(`\[(Crash|Ethernet|Clojure|SafeClients|Syncmusings)\]|RFC \d|(?i:how not to crash a server|improve on exponential backoff|exponential backoff|safe client behaviour)|Handling Overload|sre\.google|SRE book|ClientConn`)
	rule     = regexp.MustCompile(`docs/design\.md,? rule (\d+)`)
	spaces   = regexp.MustCompile("[\\s`*_]+")
)

// A sentence that a test quotes is in a document of ours. If the comment names the document, it is in that
// one. A file of tests that quotes other texts, which are not in the repository, names them.
func TestQuotesAreInTheirDocuments(t *testing.T) {
	documents := map[string]string{}
	var tests []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, "_test.go"):
			tests = append(tests, path)
		case strings.HasSuffix(path, ".md"), strings.HasSuffix(path, ".go"):
			documents[path] = words(t, path)
		}
		return nil
	}))
	quotes := 0
	for _, path := range tests {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		others := ofOthers.Match(text)
		for _, c := range comments(t, path, text) {
			for _, r := range rule.FindAllStringSubmatch(c, -1) {
				assert.Contains(t, documents["docs/design.md"], " "+r[1]+". ", "%s: no rule %s in docs/design.md", path, r[1])
			}
			named := ""
			if m := ofOurs.FindStringSubmatch(c); m != nil {
				named = strings.TrimSuffix(m[1], ".md") + ".md"
			}
			for _, q := range quote.FindAllStringSubmatch(c, -1) {
				if strings.Count(q[1], " ") < 4 {
					continue // a name or a value
				}
				quotes++
				assert.True(t, found(q[1], documents, named) || named == "" && others,
					"%s: this quote is in no document of ours (%s), and the file names no other text: %s", path, named, q[0])
			}
		}
	}
	require.Greater(t, quotes, 20)
}

// comments returns the comments of a file, each as one line, but not the output of Examples.
func comments(t *testing.T, path string, text []byte) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, g := range f.Comments {
		if c := oneLine(g); !strings.HasPrefix(c, "Output:") {
			all = append(all, c)
		}
	}
	return all
}

func oneLine(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }

// words is a document, or the comments of Go source, without line breaks and emphasis.
func words(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s := string(text)
	if strings.HasSuffix(path, ".go") {
		s = strings.Join(comments(t, path, text), "\n")
	}
	return " " + plain(s)
}

func plain(s string) string { return strings.ToLower(spaces.ReplaceAllString(s, " ")) }

// found reports whether a document has each part of a quote; named is the only document that
// counts, or empty.
func found(q string, documents map[string]string, named string) bool {
	for path, text := range documents {
		has := named == "" || path == named
		for _, part := range cut.Split(plain(q), -1) {
			has = has && strings.Contains(text, strings.Trim(part, " .,;:"))
		}
		if has {
			return true
		}
	}
	return false
}
