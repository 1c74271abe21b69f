package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// git is what git says in the root.
func git(t *testing.T, args ...string) string {
	t.Helper()
	said := exec.Command("git", args...)
	said.Dir = root
	text, err := said.Output()
	require.NoError(t, err)
	return string(text)
}

// What a build leaves behind is no part of the tree: no file is larger than 256 KiB. The largest, go.work.sum, has 122.
func TestNoFileIsABuild(t *testing.T) {
	files := strings.Split(strings.TrimRight(git(t, "ls-files", "-z"), "\x00"), "\x00")
	require.Greater(t, len(files), 500)
	for _, name := range files {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil { // a file that is deleted and not yet committed
			assert.LessOrEqual(t, info.Size(), int64(256<<10), name)
		}
	}
}

// Clocks are set, by an hour in either direction too. What lasts is measured by the clock that nobody sets, so no code
// takes a time apart, but to show it and to read that of another.
func TestTheClockMayBeSet(t *testing.T) {
	apart := regexp.MustCompile(`\.(Unix(Nano|Micro|Milli)?\(\)|Round\(0\))`)
	shows := []string{"live/series.go", "live/watch.go", "contrib/aimdotel/otel.go", "contrib/aimdotel/remote.go",
		"contrib/aimdprom/collector.go", "contrib/aimdprom/remote.go", "internal/sharetest/memory.go", "remote/remote.go", "share/driver.go"}
	seen := 0
	for name := range strings.FieldsSeq(git(t, "ls-files", "*.go", ":!*_test.go", ":!cmd", ":!examples", ":!proof")) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // a file that is deleted and not yet committed
			continue
		}
		require.NoError(t, err)
		if apart.Match(text) {
			assert.Contains(t, shows, name, "%s", apart.Find(text))
			seen++
		}
	}
	slices.Sort(shows)
	assert.Len(t, shows, seen, "a file of the list no longer does")
}

// On 32-bit machines only the first word of what is allocated is aligned to 64 bits, and an atomic of 64 bits that is
// not panics there. So such fields of go.uber.org/atomic come first.
func TestAtomicsOf64BitsComeFirst(t *testing.T) {
	wide := []string{"Duration", "Float64", "Int64", "Uint64"}
	seen := 0
	for name := range strings.FieldsSeq(git(t, "grep", "-l", "go.uber.org/atomic", "--", "*.go", ":!*_test.go", ":!proof")) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			first := true
			for _, f := range s.Fields.List {
				kind, ok := f.Type.(*ast.SelectorExpr)
				is := ok && kind.X.(*ast.Ident).Name == "atomic" && slices.Contains(wide, kind.Sel.Name)
				if is {
					seen++
					assert.True(t, first, "%s: the field %s", name, f.Names[0])
				}
				first = first && is
			}
			return true
		})
	}
	assert.GreaterOrEqual(t, seen, 7, "the test sees none")
}

// light are the packages that a program without HTTP uses.
var light = []string{".", "./retry", "./job"}

// heavy are packages of Go that a program does not link because of a light one. The templates call methods by names that
// the linker cannot know, so that it keeps every exported method of the program.
var heavy = []string{
	"net/http", "net/http/httptrace", "crypto/tls", "crypto/x509", "crypto/rsa", "math/big", "mime/multipart",
	"text/template", "html/template", "regexp", "database/sql", "encoding/gob", "encoding/asn1", "go/ast", "testing", "flag", "expvar",
}

func TestAProgramWithoutHTTPStaysSmall(t *testing.T) {
	t.Chdir(root)
	out, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{.ImportPath}}\t{{.Standard}}\t{{range .GoFiles}}{{$.Dir}}/{{.}}\t{{end}}"}, light...)...).Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Greater(t, len(lines), 100, "the packages of Go are among them")
	for _, line := range lines {
		p := strings.Split(strings.TrimSpace(line), "\t")
		assert.NotContains(t, heavy, p[0])
		if p[1] == "false" {
			for _, file := range p[2:] {
				noMethodIsCalledByNumber(t, file)
			}
		}
	}
}

// noMethodIsCalledByNumber fails if the file asks reflect for a method by its number, or by a name that the linker does
// not see. The linker then keeps every exported method of the program: 2.5 MB.
func noMethodIsCalledByNumber(t *testing.T, file string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	uses := false
	for _, i := range f.Imports {
		uses = uses || i.Path.Value == `"reflect"`
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !uses {
			return true
		}
		if to, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) == 1 {
			_, literal := call.Args[0].(*ast.BasicLit)
			assert.False(t, to.Sel.Name == "Method" || to.Sel.Name == "MethodByName" && !literal, "%s: reflect's %s", file, to.Sel.Name)
		}
		return true
	})
}

// The lists of the Makefile are whole: RACED has each package of the tool that starts goroutines, SYSTEM each with a file
// for a system.
func TestTheListsOfTheMakefileAreWhole(t *testing.T) {
	t.Chdir(root)
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	list := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `\s*:= (.+)$`).FindStringSubmatch(string(makefile))
		require.NotNil(t, m, name)
		return strings.NewReplacer("$(addprefix ./cmd/aimd/internal/,", "", "./cmd/aimd/internal/", "", ")", "").Replace(m[1])
	}
	starts := regexp.MustCompile(`\bgo func|\.Go\(`)
	raced, system := map[string]bool{}, map[string]bool{}
	for path, text := range files(t, ".go") {
		dir, ours := strings.CutPrefix(filepath.ToSlash(filepath.Dir(path)), "cmd/aimd/internal/")
		if ours && !strings.HasSuffix(path, "_test.go") && starts.MatchString(text) {
			raced[dir] = true
		}
		if ours && strings.HasSuffix(path, "_unix.go") {
			system[dir] = true
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(raced)), strings.Fields(list("RACED")))
	assert.ElementsMatch(t, slices.Collect(maps.Keys(system)), strings.Fields(list("SYSTEM")))
}

// Each name in ROWS of the Makefile begins the name of a test with real servers. Otherwise make e2e would pass without it.
// Each in SLOW is one that make race leaves to make proof.
func TestTheTestsThatTheMakefileNames(t *testing.T) {
	t.Chdir(root)
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	all, real := "", ""
	for path, text := range files(t, "_test.go") {
		all += text
		if filepath.ToSlash(filepath.Dir(path)) == "proof/e2e" {
			real += text
		}
	}
	for name, tests := range map[string]string{"ROWS": real, "SLOW": all} {
		list := regexp.MustCompile(`(?m)^` + name + `\s*\?= (.+)$`).FindSubmatch(makefile)
		require.NotNil(t, list, name)
		for test := range strings.SplitSeq(string(list[1]), "|") {
			assert.Contains(t, tests, "\nfunc Test"+test, name)
		}
	}
}
