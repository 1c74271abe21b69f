//go:build linux

package proxy

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ended is how a proxy with that file for its windows ends, which is asked to end at once.
func ended(t *testing.T, state string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := defaults
	s.to, s.listen, s.stateFile, s.drain, s.drainDelay = "http://127.0.0.1:1", "127.0.0.1:0", state, time.Second, 0
	return s.run(ctx, io.Discard)
}

// --state /dev/null ("nowhere") as root would make a file of the device, for all programs of the machine. Here a device of
// the same numbers in a folder of the test, which only root can make; anybody can make a pipe, and that held the start for
// ever.
func TestTheStateIsNoDeviceAndNoPipe(t *testing.T) {
	kinds := map[string]uint32{"pipe": unix.S_IFIFO | 0o600}
	if os.Geteuid() == 0 {
		kinds["device"] = unix.S_IFCHR | 0o666
	}
	for kind, mode := range kinds {
		path := filepath.Join(t.TempDir(), kind)
		require.NoError(t, unix.Mknod(path, mode, int(unix.Mkdev(1, 3))))
		before, err := os.Lstat(path)
		require.NoError(t, err)
		assert.ErrorContains(t, ended(t, path), "--state "+path+": want a regular file", kind)
		after, err := os.Lstat(path)
		require.NoError(t, err)
		assert.Equal(t, before.Mode(), after.Mode())
	}
}

// A link to a mounted volume stays one. A link with the name of the new file, which another user of the folder made, was
// followed: his choice of file was emptied.
func TestTheStateAndLinks(t *testing.T) {
	dir := t.TempDir()
	volume, link, precious := filepath.Join(dir, "volume.json"), filepath.Join(dir, "state.json"), filepath.Join(dir, "precious")
	for _, path := range []string{volume, precious} {
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	}
	require.NoError(t, os.Symlink(volume, link))
	require.NoError(t, os.Symlink(precious, link+".new"))
	require.NoError(t, os.Symlink(precious, volume+".new"))
	before, err := os.Stat(precious)
	require.NoError(t, err)
	require.NoError(t, ended(t, link))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is now %v", info.Mode())
	after, err := os.Stat(precious)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
}

// An old proxy that drains beside its successor: the file has all windows of both, and is whole at each time.
func TestTwoProxiesShareAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var proxies []*proxy
	for i, n := range []int{1, 40} {
		p := made(t, func(s *settings) { s.stateFile = path })
		for k := range n {
			_, err := p.limited.For(fmt.Sprint("key ", i, k))
			require.NoError(t, err)
		}
		proxies = append(proxies, p)
	}
	for range 50 {
		var all sync.WaitGroup
		for _, p := range proxies {
			all.Go(func() { assert.NoError(t, p.save()) })
		}
		all.Wait()
		_, err := load(path)
		require.NoError(t, err)
	}
	for _, p := range proxies {
		require.NoError(t, p.save())
	}
	windows, err := load(path)
	require.NoError(t, err)
	assert.Len(t, windows, 41)
}

// A window of a time that was wrong, an hour ahead or more, does not stay in the file.
func TestAWindowOfTheFutureGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	p := made(t, func(s *settings) { s.stateFile = path })
	now := time.Now()
	for name, at := range map[string]time.Time{"soon": now.Add(time.Hour / 2), "far": now.Add(2 * time.Hour), "old": now.Add(-2 * time.Hour)} {
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{%q: {"At": %q}}`, name, at.Format(time.RFC3339)), 0o600))
		require.NoError(t, p.save())
		windows, err := load(path)
		require.NoError(t, err)
		_, kept := windows[name]
		assert.Equal(t, name == "soon", kept, name)
	}
}
