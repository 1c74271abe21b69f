package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files is a small repository like ours: a library, an integration that requires
// and replaces it, and a command that requires both.
var files = map[string]string{
	"go.mod":                             "module example.test/m.git\n\ngo 1.25.0\n",
	"m.go":                               "// Package m is a library.\npackage m\n\n// Answer answers.\nfunc Answer() string { return \"answer\" }\n",
	"CHANGELOG.md":                       "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- All of it.\n",
	"LICENSE":                            "do as you like\n",
	"contrib/x/go.mod":                   "module example.test/m.git/contrib/x\n\ngo 1.25.0\n\nrequire example.test/m.git v0.0.0\n\nreplace example.test/m.git => ../..\n",
	"contrib/x/x.go":                     "// Package x passes on.\npackage x\n\nimport \"example.test/m.git\"\n\n// Pass passes on.\nfunc Pass() string { return m.Answer() }\n",
	"cmd/tool/go.mod":                    "module example.test/m.git/cmd/tool\n\ngo 1.25.0\n\nrequire (\n\texample.test/m.git v0.0.0\n\texample.test/m.git/contrib/x v0.0.0\n)\n",
	"cmd/tool/main.go":                   toolMain,
	"release/testdata/main.go":           "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.test/m.git\"\n)\n\nfunc main() { fmt.Println(m.Answer()) }\n",
	"release/testdata/contrib/x/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.test/m.git/contrib/x\"\n)\n\nfunc main() { fmt.Println(x.Pass()) }\n",
}

const toolMain = `package main

import (
	"fmt"
	"runtime/debug"

	"example.test/m.git"
	"example.test/m.git/contrib/x"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	fmt.Println(info.Main.Version, m.Answer() == x.Pass())
}
`

// repository makes the small repository with one commit, and changes in it
// after that. Caches and proxies are the test's own.
func repository(t *testing.T, changes map[string]string) *tree {
	t.Helper()
	ctx := t.Context()
	cache, err := goEnv(ctx, "GOMODCACHE")
	require.NoError(t, err)
	proxy, err := goEnv(ctx, "GOPROXY")
	require.NoError(t, err)
	t.Setenv("GOPROXY", fileURL(filepath.Join(cache, "cache", "download"))+","+proxy)
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "modcache"))
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GONOSUMDB", "")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("TMPDIR", t.TempDir())
	for _, who := range rehearser {
		name, value, _ := strings.Cut(who, "=")
		t.Setenv(name, value)
	}
	g := command{dir: t.TempDir()}
	git(t, g, "init", "--quiet", "--initial-branch=main")
	write(t, g.dir, files)
	write(t, g.dir, changes)
	git(t, g, "add", "--all")
	git(t, g, "commit", "--quiet", "--message", "all of it")
	r, err := open(ctx, g.dir)
	require.NoError(t, err)
	return r
}

// slow skips a test that runs the go command many times.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: not in make short")
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

func git(t *testing.T, g command, args ...string) string {
	t.Helper()
	out, err := g.run(t.Context(), "git", args...)
	require.NoError(t, err)
	return out
}

func TestARehearsalOfAGoodTreePasses(t *testing.T) {
	slow(t)
	r := repository(t, nil)
	before := git(t, r.git, "status", "--porcelain")
	require.NoError(t, rehearse(t.Context(), r))
	assert.Equal(t, before, git(t, r.git, "status", "--porcelain"), "it leaves the work tree alone")
	left, err := filepath.Glob(filepath.Join(os.Getenv("GOMODCACHE"), "example.test", "*@*"))
	require.NoError(t, err)
	assert.Empty(t, left, "nor does it leave its version in the module cache")
}

func TestARehearsalFailsWhereUsersWould(t *testing.T) {
	slow(t)
	for name, c := range map[string]struct{ file, text, want string }{
		"a command that replaces": {
			"cmd/tool/go.mod", files["cmd/tool/go.mod"] + "\nreplace example.test/m.git => ../..\n", "go install refuses that",
		},
		"a replace that leads elsewhere": {
			"contrib/x/go.mod", strings.Replace(files["contrib/x/go.mod"], "=> ../..", "=> ../../cmd", 1), "which is not its folder",
		},
		"versions that differ": {
			"contrib/x/go.mod", strings.Replace(files["contrib/x/go.mod"], "v0.0.0", "v0.0.1", 1), "at one version",
		},
		"an integration without a program": {
			"contrib/y/go.mod", "module example.test/m.git/contrib/y\n\ngo 1.25.0\n", "no program to try it out with",
		},
		"a library that does not build": {"m.go", "package m\n\nfunc Answer() string {\n", "m.go"},
		"a program that fails": {
			"release/testdata/contrib/x/main.go", "package main\n\nimport _ \"example.test/m.git/contrib/x\"\n\nfunc main() { panic(\"no\") }\n", "panic: no",
		},
		"a program that is silent": {
			"release/testdata/contrib/x/main.go", "package main\n\nimport _ \"example.test/m.git/contrib/x\"\n\nfunc main() {}\n", "prints nothing",
		},
		"a version without the commit": {
			"cmd/tool/main.go", "package main\n\nimport (\n\t_ \"example.test/m.git\"\n\t_ \"example.test/m.git/contrib/x\"\n)\n\nfunc main() { print() }\n", "want one line with version and commit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := repository(t, map[string]string{c.file: c.text})
			assert.ErrorContains(t, rehearse(t.Context(), r), c.want)
		})
	}
}

// What check finds by reading, the go command refuses as well: the proxy serves
// the tree as it is.
func TestUsersCannotInstallACommandThatReplaces(t *testing.T) {
	slow(t)
	r := repository(t, map[string]string{"cmd/tool/go.mod": files["cmd/tool/go.mod"] + "\nreplace example.test/m.git => ../..\n"})
	assert.ErrorContains(t, tryAsItIs(t, r, "v0.0.0"), "more replace directives")
}

func TestUsersCannotFetchWhatRequiresAnotherVersion(t *testing.T) {
	slow(t)
	r := repository(t, nil)
	t.Setenv("GOPROXY", "off")
	assert.ErrorContains(t, tryAsItIs(t, r, "v0.1.0"), "downloading example.test/m.git v0.0.0", "the tree requires v0.0.0")
}

func tryAsItIs(t *testing.T, r *tree, version string) (err error) {
	t.Helper()
	require.NoError(t, r.inClone(t.Context(), func(c *tree, tmp string) error {
		err = c.tryOut(t.Context(), version, tmp)
		return nil
	}))
	return err
}

func TestAReleaseIsOneCommitAndATagForEachModule(t *testing.T) {
	slow(t)
	r := repository(t, nil)
	require.NoError(t, prepare(t.Context(), r, "v0.1.0"))

	assert.Empty(t, git(t, r.git, "status", "--porcelain"))
	assert.Equal(t, "2", git(t, r.git, "rev-list", "--count", "HEAD"))
	assert.Equal(t, "cmd/tool/v0.1.0\ncontrib/x/v0.1.0\nv0.1.0", git(t, r.git, "tag", "--points-at", "HEAD"))
	assert.Contains(t, git(t, r.git, "show", "HEAD:CHANGELOG.md"), "## [Unreleased]\n\n## [0.1.0] - 20")
	mod := git(t, r.git, "show", "HEAD:contrib/x/go.mod")
	assert.Contains(t, mod, "require example.test/m.git v0.1.0")
	assert.Contains(t, mod, "replace example.test/m.git => ../..", "Go ignores it for dependencies")
	mod = git(t, r.git, "show", "HEAD:cmd/tool/go.mod")
	assert.Contains(t, mod, "example.test/m.git/contrib/x v0.1.0")
	assert.NotContains(t, mod, "replace")

	r, err := open(t.Context(), r.git.dir)
	require.NoError(t, err)
	version, err := r.check()
	require.NoError(t, err)
	assert.Equal(t, "v0.1.0", version)
	require.NoError(t, tryAsItIs(t, r, "v0.1.0"), "what the tags show works as it is")
	require.NoError(t, r.tidyCommands(t.Context()))
	assert.Empty(t, git(t, r.git, "status", "--porcelain"), "a released tree is tidy")
}

// The sums in a command's go.sum are of the zips that the go command itself
// makes from the tags.
func TestTheSumsOfAReleaseAreThoseOfItsTags(t *testing.T) {
	slow(t)
	r := repository(t, nil)
	require.NoError(t, prepare(t.Context(), r, "v0.1.0"))
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte("[url \""+fileURL(r.git.dir)+"\"]\n\tinsteadOf = https://example.test/m\n"), 0o644))
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "direct"))
	c := command{r.file("cmd/tool"), []string{"GOPROXY=direct", "GONOSUMDB=example.test", "GOWORK=off"}}
	out, err := c.run(t.Context(), "go", "run", ".")
	require.NoError(t, err, "go.sum holds")
	assert.Contains(t, out, "true")
}

func TestWhatAReleaseRefuses(t *testing.T) {
	t.Run("a dirty tree", func(t *testing.T) {
		r := repository(t, nil)
		write(t, r.git.dir, map[string]string{"new.go": "package m\n"})
		assert.ErrorContains(t, prepare(t.Context(), r, "v0.1.0"), "not committed:\n?? new.go")
	})
	t.Run("a changelog with nothing to tell", func(t *testing.T) {
		r := repository(t, map[string]string{"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n"})
		assert.ErrorContains(t, prepare(t.Context(), r, "v0.1.0"), "[Unreleased] has no entry")
	})
	t.Run("a changelog with something left to write", func(t *testing.T) {
		r := repository(t, map[string]string{"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n- TODO: tell\n"})
		assert.ErrorContains(t, prepare(t.Context(), r, "v0.1.0"), `[Unreleased] says "TODO"`)
		assert.Empty(t, git(t, r.git, "tag"))
		assert.Empty(t, git(t, r.git, "status", "--porcelain"), "nothing is half done")
	})
	t.Run("a version that is none", func(t *testing.T) {
		r := repository(t, nil)
		for _, v := range []string{"", "0.1.0", "v0.1", "v2.0.0", "v0.1.0+x"} {
			assert.ErrorContains(t, prepare(t.Context(), r, v), "want v0.Y.Z or v1.Y.Z", v)
		}
	})
	t.Run("a version that is not new", func(t *testing.T) {
		r := repository(t, nil)
		git(t, r.git, "tag", "v0.2.0")
		assert.ErrorContains(t, prepare(t.Context(), r, "v0.1.9"), "not after the last one, v0.2.0")
	})
}

func TestABreakOfTheAPINeedsANewMinorVersion(t *testing.T) {
	slow(t)
	r := repository(t, nil)
	require.NoError(t, prepare(t.Context(), r, "v0.1.0"))
	next := strings.ReplaceAll(git(t, r.git, "show", "HEAD:CHANGELOG.md")+"\n", unreleased, unreleased+"\n- More.\n")
	added := files["m.go"] + "\n// More is new.\nfunc More() {}\n"
	write(t, r.git.dir, map[string]string{"m.go": added, "CHANGELOG.md": next})
	git(t, r.git, "commit", "--quiet", "--all", "--message", "add")
	require.NoError(t, prepare(t.Context(), r, "v0.1.1"), "what is added breaks nothing")

	next = strings.ReplaceAll(git(t, r.git, "show", "HEAD:CHANGELOG.md")+"\n", unreleased, unreleased+"\n- Less.\n")
	write(t, r.git.dir, map[string]string{"m.go": files["m.go"], "CHANGELOG.md": next})
	git(t, r.git, "commit", "--quiet", "--all", "--message", "remove")
	assert.ErrorContains(t, prepare(t.Context(), r, "v0.1.2"), "More: removed")
	require.NoError(t, prepare(t.Context(), r, "v0.2.0"))
}
