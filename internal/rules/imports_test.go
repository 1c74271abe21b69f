// Package rules tests what holds for the whole repository: who imports whom, what documents
// and comments say, and how the modules require each other.
package rules

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/aimd-go/aimd"

// root is the folder of the root module. Each test goes there itself: after a change of folder in TestMain, go test
// would not notice the files that the tests read, and take their results from its cache.
var root, _ = filepath.Abs("../..")

// mayImport is which package may import which others of ours. A new package fails the test
// until it has a line.
var mayImport = map[string][]string{
	"":          {"internal/reason", "event", "setting", "answer", "limiter", "attempt", "window", "queue", "internal/check", "internal/line", "internal/probe", "internal/quota", "verdict"},
	"window":    {"internal/check"},
	"setting":   {},
	"event":     {},
	"queue":     {},
	"tag":       {"attempt", "internal/check"},
	"backoff":   {"internal/check"},
	"schedule":  {"internal/check"},
	"answer":    {"internal/body"},
	"verdict":   {"window", "answer", "internal/reason", "internal/body"},
	"attempt":   {"window", "answer", "verdict", "limiter", "internal/reason"},
	"limiter":   {"window", "answer", "internal/quota", "internal/check"},
	"admission": {"window", "queue", "tag", "limiter", "internal/check"},
	"httplimit": {"", "answer", "attempt", "internal/body", "retry", "window", "tag", "internal/check", "verdict"},

	"internal/check":   {"setting"},
	"internal/body":    {},
	"internal/line":    {"window", "queue"},
	"internal/reason":  {},
	"internal/quota":   {"answer"},
	"internal/sliding": {},
	"internal/rules":   {},

	"internal/probe":       {"window"},
	"internal/fleet":       {"limiter", "window"},
	"internal/attempttest": {"", "attempt", "verdict", "window"},
	"internal/sharetest":   {"internal/fleet", "share"},

	"internal/s3test": {},
	"job":             {"", "attempt"},
	"live":            {"", "event", "window"},
	"share":           {"", "window", "internal/check", "internal/fleet"},

	"throttle": {"answer", "window", "attempt", "tag", "internal/check", "internal/sliding", "verdict"},
	"retry":    {"answer", "window", "attempt", "backoff", "internal/check", "internal/reason", "internal/sliding", "internal/quota", "verdict"},

	"remote": {"", "answer", "window", "schedule", "tag", "internal/check", "verdict"},

	"internal/sim": {"", "setting", "answer", "attempt", "window", "queue", "backoff", "tag", "internal/check", "internal/fleet", "internal/line", "limiter", "retry", "schedule", "throttle", "verdict"},
}

// pure packages have only methods of values: they do not wait, lock or read a clock.
var pure = []string{
	"setting", "event", "answer", "window", "queue", "limiter", "backoff", "internal/sim",
	"internal/check", "internal/fleet", "internal/line", "internal/probe", "internal/sliding", "internal/quota",
}

// impure packages may not be imported by pure ones.
var impure = []string{"sync", "sync/atomic", "context", "log", "log/slog", "os", "net", "net/http"}

// modules are all that the packages of the root module may import from others.
var modules = []string{"go.uber.org/atomic", "github.com/benbjohnson/clock"}

type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...").Output()
	require.NoError(t, err)
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		all = append(all, p)
	}
}

func folder(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func TestPackagesImportOnlyWhatTheDesignAllows(t *testing.T) {
	t.Chdir(root)
	var seen []string
	for _, p := range listPackages(t) {
		name := folder(p.ImportPath)
		seen = append(seen, name)
		allowed, known := mayImport[name]
		assert.True(t, known, "package %q has no line in mayImport", p.ImportPath)
		for _, i := range p.Imports {
			switch {
			case i == module || strings.HasPrefix(i, module+"/"):
				assert.Contains(t, allowed, folder(i), "%s imports %s", p.ImportPath, i)
			case (name == "internal/attempttest" || name == "internal/sharetest") && strings.HasPrefix(i, "github.com/stretchr/testify/"): // it is for tests
			case strings.Contains(strings.Split(i, "/")[0], "."):
				assert.True(t, slices.ContainsFunc(modules, func(m string) bool {
					return i == m || strings.HasPrefix(i, m+"/")
				}), "%s imports %s", p.ImportPath, i)
			}
			if slices.Contains(pure, name) && (name != "internal/sim" || i != "context") { // a Policy of retry takes one
				assert.NotContains(t, impure, i, "%s is pure", p.ImportPath)
			}
		}
	}
	for name := range mayImport {
		assert.Contains(t, seen, name, "mayImport has a line for a package that is not there")
	}
}

// cores are pure files of packages that are not pure.
var cores = map[string][]string{
	"attempt":   {"decide.go"},
	"schedule":  {"plan.go"},
	"admission": {"core.go", "line.go", "config.go"},
}

func TestTheCoresArePure(t *testing.T) {
	t.Chdir(root)
	for dir, files := range cores {
		args := []string{"list", "-f", `{{join .Imports "\n"}}`}
		for _, f := range files {
			args = append(args, dir+"/"+f)
		}
		out, err := exec.Command("go", args...).Output()
		require.NoError(t, err)
		imports := strings.Fields(string(out))
		require.NotEmpty(t, imports)
		for _, i := range imports {
			assert.NotContains(t, impure, i, "the core of %s", dir)
		}
	}
}

// goMod is what go mod edit -json prints of a go.mod.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// goMods returns the modules of the repository by folder.
func goMods(t *testing.T) map[string]goMod {
	t.Helper()
	all := map[string]goMod{}
	for path := range files(t, "go.mod") {
		out, err := exec.Command("go", "mod", "edit", "-json", path).Output()
		require.NoError(t, err)
		var m goMod
		require.NoError(t, json.Unmarshal(out, &m))
		all[filepath.ToSlash(filepath.Dir(path))] = m
	}
	return all
}

// Our modules require each other at one version, that of the last release. Modules replace
// each other by their own folder; those below cmd do not, because go install refuses that.
func TestModulesRequireAndReplaceEachOther(t *testing.T) {
	t.Chdir(root)
	all := goMods(t)
	folder := map[string]string{}
	for dir, m := range all {
		folder[m.Module.Path] = dir
	}
	require.Contains(t, folder, module)
	versions := map[string]bool{}
	for dir, m := range all {
		replaced := map[string]bool{}
		for _, r := range m.Replace {
			to, ours := folder[r.Old.Path]
			assert.True(t, ours && dir != "." && !strings.HasPrefix(dir, "cmd/"), "%s/go.mod replaces %s", dir, r.Old.Path)
			assert.Empty(t, r.Old.Version)
			assert.Equal(t, to, filepath.ToSlash(filepath.Join(dir, r.New.Path)), "%s/go.mod replaces %s", dir, r.Old.Path)
			replaced[r.Old.Path] = true
		}
		for _, r := range m.Require {
			if _, ours := folder[r.Path]; ours {
				versions[r.Version] = true
				assert.True(t, replaced[r.Path] || strings.HasPrefix(dir, "cmd/"), "%s/go.mod does not replace %s", dir, r.Path)
			}
		}
	}
	assert.Len(t, versions, 1)
}

// A user may update one of the modules that programs import without the others. So their packages import no internal
// package of another module. Their tests may, and so may the modules that nobody imports: both are of one version.
func TestNoModuleThatUsersImportNeedsInternalPackagesOfAnother(t *testing.T) {
	t.Chdir(root)
	all := goMods(t)
	// owner is the module of a package or a folder: the one with the longest path.
	owner := func(path string) (of string) {
		for _, m := range all {
			if p := m.Module.Path; (path == p || strings.HasPrefix(path, p+"/")) && len(p) > len(of) {
				of = p
			}
		}
		return of
	}
	imported := func(m string) bool {
		return m == module || strings.HasPrefix(m, module+"/contrib/") || strings.HasPrefix(m, module+"/examples/")
	}
	source, bound := files(t, ".go"), 0
	for path, text := range source {
		in := owner(module + "/" + path)
		if strings.HasSuffix(path, "_test.go") || !imported(in) {
			continue
		}
		bound++
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			if strings.HasPrefix(name, module+"/") && strings.Contains(name+"/", "/internal/") {
				assert.Equal(t, in, owner(name), "%s imports %s", path, name)
			}
		}
	}
	require.Greater(t, bound, 100)
}
