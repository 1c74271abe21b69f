//go:build unix

package upload

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipesDevicesAndSocketsAreIgnored(t *testing.T) {
	dir := tree(t, "file", "null -> /dev/null")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer l.Close()
	want := []string{"file", "null: not a regular file", "pipe: not a regular file", "socket: not a regular file"}
	assert.Equal(t, want, keysBelow(dir))
	assert.Equal(t, want[2:3], keysBelow(dir+"/pipe"))

	// A pipe that took a file's place after the walk does not hold the run up.
	_, err = open(filepath.Join(dir, "pipe"), nil)
	require.EqualError(t, err, "no longer a regular file")
}
