//go:build unix

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files is a small repository like ours: a library, an integration that requires
// and replaces it, and a command that requires both and uses an internal package.
var files = map[string]string{
	"go.mod":              "module example.test/m.git\n\ngo 1.25.0\n",
	"m.go":                "// Package m is a library.\npackage m\n\nimport \"example.test/m.git/internal/y\"\n\n// Answer answers.\nfunc Answer() string { return y.Answer }\n",
	"internal/y/y.go":     "// Package y has the answer.\npackage y\n\n// Answer is the answer.\nconst Answer = \"answer\"\n",
	"m_test.go":           "package m_test\n\nimport (\n\t\"fmt\"\n\n\t\"example.test/m.git\"\n)\n\nfunc ExampleAnswer() {\n\tfmt.Println(m.Answer())\n\t// Output: answer\n}\n",
	"CHANGELOG.md":        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- All of it.\n",
	"LICENSE":             "do as you like\n",
	"contrib/x/go.mod":    "module example.test/m.git/contrib/x\n\ngo 1.25.0\n\nrequire example.test/m.git v0.0.0\n\nreplace example.test/m.git => ../..\n",
	"contrib/x/x.go":      "// Package x passes on.\npackage x\n\nimport \"example.test/m.git\"\n\n// Pass passes on.\nfunc Pass() string { return m.Answer() }\n",
	"contrib/x/x_test.go": "package x_test\n\nimport (\n\t\"fmt\"\n\n\t\"example.test/m.git/contrib/x\"\n)\n\nfunc ExamplePass() {\n\tfmt.Println(x.Pass())\n\t// Output: answer\n}\n",
	"cmd/tool/go.mod":     "module example.test/m.git/cmd/tool\n\ngo 1.25.0\n\nrequire (\n\texample.test/m.git v0.0.0\n\texample.test/m.git/contrib/x v0.0.0\n)\n",
	"cmd/tool/main.go":    toolMain,
}

const toolMain = `package main

import (
	"fmt"
	"runtime/debug"

	"example.test/m.git"
	"example.test/m.git/contrib/x"
	"example.test/m.git/internal/y"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	fmt.Println(info.Main.Version, m.Answer() == x.Pass(), y.Answer)
}
`

// repository makes the small repository with one commit, with changes to the files above.
// The module cache and git's settings are the test's own.
func repository(t *testing.T, changes map[string]string) (dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: not in make short")
	}
	tools := run(t, ".", "go", "env", "GOMODCACHE")
	t.Setenv("GOPROXY", "file://"+tools+"/cache/download,"+run(t, ".", "go", "env", "GOPROXY"))
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "modcache"))
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@localhost")
	}
	dir = t.TempDir()
	run(t, dir, "git", "init", "--quiet", "--initial-branch=main")
	write(t, dir, files)
	write(t, dir, changes)
	commit(t, dir)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, "git", "add", "--all")
	run(t, dir, "git", "commit", "--quiet", "--message", "all of it")
}

// run returns the output of a command that succeeds.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// release runs the script in a repository, and returns its output and whether it succeeded.
func release(t *testing.T, dir string, args ...string) (string, bool) {
	t.Helper()
	script, err := filepath.Abs("release.sh")
	require.NoError(t, err)
	require.FileExists(t, script) // so that go test knows the file, and takes no result from its cache once it changed
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{script}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func requireRelease(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, ok := release(t, dir, args...)
	require.True(t, ok, out)
	return out
}

func assertRefused(t *testing.T, why, dir string, args ...string) {
	t.Helper()
	out, ok := release(t, dir, args...)
	assert.False(t, ok, out)
	assert.Contains(t, out, why)
}

func TestARehearsalOfAGoodTreePasses(t *testing.T) {
	dir := repository(t, nil)
	write(t, dir, map[string]string{"new.go": "package m\n\n// New is not committed.\nfunc New() {}\n"})
	out := requireRelease(t, dir, "rehearse")
	for _, works := range []string{"example.test/m.git ", "example.test/m.git/contrib/x ", "example.test/m.git/cmd/tool ", "a program with all of them: 3 at v0.1.0-", "the integrations with a newer root: 1 at v0.1.0-"} {
		assert.Contains(t, out, "works: "+works)
	}
	assert.Equal(t, "?? new.go", run(t, dir, "git", "status", "--porcelain"), "the work tree stays as it is")
	left, err := filepath.Glob(filepath.Join(os.Getenv("GOMODCACHE"), "example.test", "*@*"))
	require.NoError(t, err)
	assert.Empty(t, left, "the module cache does not keep the version")
	left, err = filepath.Glob(filepath.Join(os.Getenv("GOMODCACHE"), "cache", "vcs", "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "nor the clone")
}

func TestARehearsalFailsWhereUsersWould(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a command that replaces": {
			"cmd/tool/go.mod", files["cmd/tool/go.mod"] + "\nreplace example.test/m.git => ../..\n", "replace directives",
		},
		"a library whose examples show no output": {
			"contrib/x/x_test.go", "package x\n\nfunc ExamplePass() { Pass() }\n", "no example with an output",
		},
		"an example that fails": {
			"contrib/x/x_test.go", "package x\n\nfunc ExamplePass() {\n\tprintln(Pass())\n\t// Output: question\n}\n", "question",
		},
		"a library that imports an internal package of another": {
			"contrib/x/x.go", "package x\n\nimport \"example.test/m.git/internal/y\"\n\nfunc Pass() string { return y.Answer }\n", "no program can be built with example.test/m.git/contrib/x@v0.1.0-rehearsal",
		},
		"a library that does not build": {"m.go", "package m\n\nfunc Answer() string {\n", "m.go"},
		"a command without its version": {
			"cmd/tool/main.go", "package main\n\nimport (\n\t_ \"example.test/m.git\"\n\t_ \"example.test/m.git/contrib/x\"\n)\n\nfunc main() { print() }\n", "--version prints ''",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assertRefused(t, c.want, repository(t, map[string]string{c.file: c.text}), "rehearse")
		})
	}
}

func TestAReleaseIsACommitAndItsTags(t *testing.T) {
	dir := repository(t, nil)
	out := requireRelease(t, dir, "prepare", "v0.1.0")
	assert.Contains(t, out, "git push --atomic origin HEAD v0.1.0 cmd/tool/v0.1.0 contrib/x/v0.1.0")
	assert.Equal(t, "cmd/tool/v0.1.0\ncontrib/x/v0.1.0\nv0.1.0", run(t, dir, "git", "tag", "--points-at", "HEAD"))
	assert.Equal(t, "release v0.1.0", run(t, dir, "git", "show", "--no-patch", "--format=%s"))
	assert.Contains(t, run(t, dir, "cat", "cmd/tool/go.mod"), "example.test/m.git/contrib/x v0.1.0")
	assert.Regexp(t, `(?s)## \[Unreleased\]\n\n## \[0\.1\.0\] - \d{4}-\d\d-\d\d\n.*- All of it\.`, run(t, dir, "cat", "CHANGELOG.md"))
	requireRelease(t, dir, "tidy")
	assert.Empty(t, run(t, dir, "git", "status", "--porcelain"), "a released tree is tidy")
}

func TestWhatAReleaseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ changelog, want string }{
		"an empty changelog":       {"", "[Unreleased] has no entry"},
		"an unfinished changelog":  {"\n- TODO: write\n", "[Unreleased] is unfinished"},
		"a version that was there": {"\n- All.\n\n## [0.1.0] - 2026-01-01\n", "has a section [0.1.0] already"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t, map[string]string{"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n" + c.changelog})
			assertRefused(t, c.want, dir, "prepare", "v0.1.0")
			assert.Empty(t, run(t, dir, "git", "tag"))
			assert.Empty(t, run(t, dir, "git", "status", "--porcelain"), "nothing is half done")
		})
	}
	t.Run("a dirty tree", func(t *testing.T) {
		dir := repository(t, nil)
		write(t, dir, map[string]string{"new.go": "package m\n"})
		assertRefused(t, "not committed: ?? new.go", dir, "prepare", "v0.1.0")
	})
	t.Run("a bad version", func(t *testing.T) {
		dir := repository(t, nil)
		for _, v := range []string{"", "0.1.0", "v0.1", "v2.0.0", "v0.1.0+x", "v0.01.0"} {
			assertRefused(t, "want v0.Y.Z or v1.Y.Z", dir, "prepare", v)
		}
	})
	t.Run("a version that is not new", func(t *testing.T) {
		dir := repository(t, nil)
		run(t, dir, "git", "tag", "v0.10.0")
		for _, v := range []string{"v0.9.9", "v0.10.0"} {
			assertRefused(t, "not after the last one, v0.10.0", dir, "prepare", v)
		}
	})
}

func TestABreakOfTheAPINeedsANewMinorVersion(t *testing.T) {
	dir := repository(t, nil)
	next := func(entry, source string) {
		changelog := strings.Replace(run(t, dir, "cat", "CHANGELOG.md"), "## [Unreleased]\n", "## [Unreleased]\n\n- "+entry+"\n", 1)
		write(t, dir, map[string]string{"m.go": source, "CHANGELOG.md": changelog + "\n"})
		commit(t, dir)
	}
	requireRelease(t, dir, "prepare", "v0.1.0")
	next("More.", files["m.go"]+"\n// More is new.\nfunc More() {}\n")
	requireRelease(t, dir, "prepare", "v0.1.1")
	next("Less.", files["m.go"])
	assertRefused(t, "More: removed", dir, "prepare", "v0.1.2")
	requireRelease(t, dir, "prepare", "v0.2.0")
}
