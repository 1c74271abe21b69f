//go:build unix

package upload

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsNoFileIsReported(t *testing.T) {
	w := newWorld(t)
	w.write("file", "x")
	w.write("sub/file", "y")
	require.NoError(t, os.Symlink("file", filepath.Join(w.dir, "link")))
	require.NoError(t, os.Symlink("sub", filepath.Join(w.dir, "dirlink")))
	require.NoError(t, os.Symlink("..", filepath.Join(w.dir, "sub/loop")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(w.dir, "dangling")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o644))
	o := w.run()
	require.EqualError(t, o.err, "1 of 8 files failed")
	assert.Equal(t, map[string]string{"p/file": "x", "p/link": "x", "p/sub/file": "y", "p/dirlink/file": "y"}, w.stored())
	for name, want := range map[string][2]string{
		"pipe":         {"skipped", "named pipe, not a regular file"},
		"sub/loop":     {"skipped", "symbolic link to a directory that it lies in, not followed"},
		"dirlink/loop": {"skipped", "symbolic link to a directory that it lies in, not followed"},
		"dangling":     {"failed", "symbolic link that leads nowhere"},
	} {
		assert.Equal(t, want, [2]string{o.lines[name].Status, o.lines[name].Error}, name)
	}
}
