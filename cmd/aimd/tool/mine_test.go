package tool

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program with a law of its own, built and run as its user would: the law is in the
// tables and figures of the built-in scenarios, and wherever a law can be named.
func TestALawOfOnesOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole tool")
	}
	binary := filepath.Join(t.TempDir(), "mine.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./testdata/mine").CombinedOutput()
	require.NoError(t, err, "%s", out)
	dir := t.TempDir()
	mine := func(args ...string) string {
		c := exec.CommandContext(t.Context(), binary, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	assert.Contains(t, mine("sim", "list"), "\nlaw-50-slots ")
	table := mine("sim", "run", "law-50-slots", "window-vs-backoff", "--runs", "1", "--set", "expect=[]", "--svg", "figures")
	assert.Equal(t, 2, strings.Count(table, "│ mine "), table)
	figures, err := filepath.Glob(filepath.Join(dir, "figures", "*.svg"))
	require.NoError(t, err)
	assert.NotEmpty(t, figures)
	assert.Contains(t, mine("sim", "run", "law-50-slots", "--runs", "1", "--strategies", "mine,reno-0.5", "--json"), `"strategy":"mine"`)
	assert.Contains(t, mine("demo", "--json", "--only", "mine", "--quick", "--objects", "20", "--service", "1ms", "--goroutines", "4"), `"strategy":"mine"`)
	for _, command := range []string{"upload --law ", "client --strategy ", "demo --only ", "demo api --only "} {
		assert.Contains(t, mine(append([]string{"__complete"}, strings.Split(command, " ")...)...), "mine\n", command)
	}
}
