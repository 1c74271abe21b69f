package keep_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/keep"
)

// The file behind a link is replaced, and the link stays one. The file need not be there before.
func TestTheFileBehindALink(t *testing.T) {
	for name, target := range map[string]func(dir string) string{
		"none":     nil,
		"relative": func(string) string { return filepath.Join("kept", "file") },
		"absolute": func(dir string) string { return filepath.Join(dir, "kept", "file") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			behind := filepath.Join(dir, "kept", "file")
			require.NoError(t, os.Mkdir(filepath.Dir(behind), 0o700))
			path := behind
			if target != nil {
				path = filepath.Join(dir, "link")
				require.NoError(t, os.Symlink(target(dir), path))
			}
			for _, data := range []string{"old", "new"} {
				require.NoError(t, keep.Write(path, []byte(data)))
				got, err := keep.Read(path, 3)
				require.NoError(t, err)
				require.Equal(t, data, string(got))
			}
			_, err := keep.Read(path, 2)
			require.EqualError(t, err, path+": more than 2 bytes is not allowed")
			info, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, target != nil, info.Mode()&os.ModeSymlink != 0)
			info, err = os.Lstat(behind)
			require.NoError(t, err)
			require.True(t, info.Mode().IsRegular())
			if runtime.GOOS != "windows" {
				require.EqualValues(t, 0o600, info.Mode())
			}
			entries, err := os.ReadDir(filepath.Dir(behind))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing is left beside it")
		})
	}
}

// A socket, a directory, or a link to a link or to one of these is not replaced.
func TestAPathThatIsNoRegularFileIsLeftAlone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir) // the path of a socket must be short
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer l.Close()
	for name, to := range map[string]string{"to-socket": "socket", "first": "file", "second": "first", "self": "self"} {
		require.NoError(t, os.Symlink(to, name))
	}
	require.NoError(t, os.WriteFile("file", []byte("mine"), 0o600))
	for name, refused := range map[string]string{"socket": "socket", ".": ".", "to-socket": "socket", "second": "first", "self": "self"} {
		path := filepath.Join(dir, name)
		before, err := os.Lstat(path)
		require.NoError(t, err)
		require.ErrorContains(t, keep.Write(path, []byte("new")), filepath.Join(dir, refused)+": ", name)
		require.ErrorContains(t, keep.Write(path, []byte("new")), " is not allowed, want a regular file", name)
		after, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, before.Mode(), after.Mode())
		if name != "second" {
			_, err = keep.Read(path, 9)
			require.Error(t, err, name)
		}
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 6, "nothing is left beside it")
	data, err := os.ReadFile("file")
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
}
