package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a build leaves behind is no part of the tree: no file is larger than 256 KiB. The largest, go.work.sum, has 122.
func TestNoFileIsABuild(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	names, err := list.Output()
	require.NoError(t, err)
	files := strings.Split(strings.TrimRight(string(names), "\x00"), "\x00")
	require.Greater(t, len(files), 500)
	for _, name := range files {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil { // a file that is deleted and not yet committed
			assert.LessOrEqual(t, info.Size(), int64(256<<10), name)
		}
	}
}
