package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each name in ROWS of the Makefile begins the name of a test with real servers. Otherwise make e2e would pass without it.
func TestTheRowsOfEachPushAreTests(t *testing.T) {
	t.Chdir(root)
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^ROWS\s*\?= (.+)$`).FindSubmatch(makefile)
	require.NotNil(t, rows)
	tests := ""
	paths, err := filepath.Glob("proof/e2e/*_test.go")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		tests += string(text)
	}
	for name := range strings.SplitSeq(string(rows[1]), "|") {
		assert.Contains(t, tests, "\nfunc Test"+name)
	}
}
