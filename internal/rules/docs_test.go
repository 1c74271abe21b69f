package rules

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// What a page shows is from Examples and tests, line for line, so that it compiles.
func TestTheCodeInTheDocsIsFromExamples(t *testing.T) {
	t.Chdir(root)
	pages := files(t, ".md")
	examples := files(t, "_test.go")
	for path, text := range examples {
		examples[path] = unindented(text)
	}
	var blocks [][]string
	for _, page := range pages {
		blocks = append(blocks, goBlock.FindAllStringSubmatch(page, -1)...)
	}
	require.Greater(t, len(blocks), 15)
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

// The table of docs/trouble.md has the fields of a Snapshot in their order, and the names in its line.
func TestTheFieldsOfASnapshotAreInTheDocs(t *testing.T) {
	t.Chdir(root)
	_, table, found := strings.Cut(files(t, ".md")["docs/trouble.md"], "## Every field of a Snapshot")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	var told, inTheLine []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\|").FindAllStringSubmatch(table, -1) {
		told = append(told, row[1])
		for _, name := range regexp.MustCompile("`(.+?)`").FindAllStringSubmatch(row[2], -1) {
			inTheLine = append(inTheLine, name[1])
		}
	}
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[aimd.Snapshot]()) {
		fields = append(fields, f.Name)
	}
	assert.Equal(t, fields, told)

	at := time.Now().Add(time.Hour)
	line := aimd.Snapshot{Phase: "holding", Gap: 1, TooLate: 1, Aside: 1, Open: 1, Backups: 1, Shadow: limiter.Shadow{Sent: 1}, PausedUntil: at, Quotas: []aimd.Quota{{Name: "requests", UsedUpUntil: at}}}.String()
	var names []string
	for _, m := range regexp.MustCompile(`([a-z-]+)=("[^"]*")?`).FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	assert.ElementsMatch(t, names, inTheLine)
}

// Every link of a page leads to a file that is there, and to a heading in it.
func TestTheLinksOfTheDocsLead(t *testing.T) {
	t.Chdir(root)
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	code := regexp.MustCompile("(?s)```.*?```")
	pages := files(t, ".md")
	require.Contains(t, pages, "docs/parts.md")
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to := page
			if m[1] != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), m[1]))
			}
			_, err := os.Stat(to)
			assert.NoError(t, err, page)
			if m[2] != "" {
				assert.Contains(t, anchors(pages[to]), m[2], page)
			}
		}
	}
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(page string) (all []string) {
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// files returns the texts of all files whose names end so, by path.
func files(t *testing.T, end string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(path)] = string(text)
		return err
	}))
	return all
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
	t.Chdir(root)
	documents := files(t, ".md")
	for path, text := range documents {
		documents[path] = " " + plain(text)
	}
	for path, text := range files(t, ".go") {
		if !strings.HasSuffix(path, "_test.go") {
			documents[path] = " " + plain(strings.Join(comments(t, path, text), "\n"))
		}
	}
	quotes := 0
	for path, text := range files(t, "_test.go") {
		others := ofOthers.MatchString(text)
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
func comments(t *testing.T, path, text string) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, g := range f.Comments {
		if c := strings.Join(strings.Fields(g.Text()), " "); !strings.HasPrefix(c, "Output:") {
			all = append(all, c)
		}
	}
	return all
}

// plain is a text without line breaks and emphasis.
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
