package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
