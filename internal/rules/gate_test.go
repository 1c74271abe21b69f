package rules

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
