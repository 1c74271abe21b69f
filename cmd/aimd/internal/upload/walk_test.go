//go:build unix

package upload

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree makes files with these paths, "a -> b" a symbolic link, and returns the directory.
func tree(t *testing.T, names ...string) string {
	dir := t.TempDir()
	for _, name := range names {
		name, target, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if isLink {
			require.NoError(t, os.Symlink(target, path))
		} else {
			require.NoError(t, os.WriteFile(path, nil, 0o644))
		}
	}
	return dir
}

// keys are the keys in the order of a walk, with the reason behind those that do not go.
func keys(prefix, path string) (all []string) {
	c := Config{Source: path, Prefix: prefix}
	for e := range c.entries(context.Background()) {
		if e.err != nil {
			e.key += ": " + e.err.Error()
		}
		all = append(all, strings.TrimPrefix(e.key, prefix))
	}
	return all
}

// "a-b" comes before "a/b", and "a" before both, as in a listing of a bucket.
func TestOrderIsThatOfTheKeys(t *testing.T) {
	names := []string{"a-b/1", "a/b/c", "a.txt", "a!/x", "A", "é", "a/b.c", "ab", "a0", "~"}
	dir := tree(t, names...)
	slices.Sort(names)
	assert.Equal(t, names, keys("", dir))
}

func TestLinksAreFollowedButForLoops(t *testing.T) {
	dir := tree(t, "d/f", "d/up -> ..", "d/self -> .", "e -> d", "g -> d/f", "nowhere -> none")
	const loop = ": symbolic link to a directory that it lies in, not followed"
	assert.Equal(t, []string{
		"d/f", "d/self" + loop, "d/up" + loop, "e/f", "e/self" + loop, "e/up" + loop, "g",
		"nowhere: no such file or directory",
	}, keys("", dir))
}

func TestKeysThatS3DoesNotHave(t *testing.T) {
	dir := tree(t, "bad\xff", strings.Repeat("n", 200))
	for prefix, want := range map[int]string{825: ": the key would be longer than 1024 bytes", 824: ""} {
		assert.Equal(t, []string{"bad\xff: the name is not UTF-8, as a key must be", strings.Repeat("n", 200) + want},
			keys(strings.Repeat("p", prefix), dir))
	}
}

// Root can read everything, so this is a directory that is gone when its turn comes.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	var got entry
	walker{yield: func(e entry) bool { got = e; return true }}.directory("/nowhere/x", "x/", nil)
	assert.Equal(t, "x/", got.key)
	require.EqualError(t, got.err, "no such file or directory")
}

func TestPipesDevicesAndSocketsAreIgnored(t *testing.T) {
	dir := tree(t, "file", "null -> /dev/null")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer l.Close()
	want := []string{"file", "null: not a regular file", "pipe: not a regular file", "socket: not a regular file"}
	assert.Equal(t, want, keys("", dir))
	assert.Equal(t, want[2:3], keys("", dir+"/pipe"))

	// A pipe that took a file's place after the walk does not hold the run up.
	_, err = open(filepath.Join(dir, "pipe"), nil)
	require.EqualError(t, err, "no longer a regular file")
}

func TestFilter(t *testing.T) {
	for pattern, want := range map[string]string{
		"*.jpg": "a.jpg x/a.jpg x/y/b.jpg", "a.*": "a.jpg x/a.jpg", "x": "x/a.jpg x/y/b.jpg", "y/": "x/y/b.jpg", "/y": "", "/x": "x/a.jpg x/y/b.jpg",
		"x/*.jpg": "x/a.jpg", "x/**": "x/a.jpg x/y/b.jpg", "**/b.jpg": "x/y/b.jpg", "{c,x/y}/**": "x/y/b.jpg", "[a]*": "a.jpg x/a.jpg", "A.jpg": "",
	} {
		all := []string{"a.jpg", "x/a.jpg", "x/y/b.jpg"}
		var in, out []string
		for _, path := range all {
			if (filter{Include: []string{pattern}}).takes(path) {
				in = append(in, path)
			}
			if !(filter{Exclude: []string{pattern}}).takes(path) {
				out = append(out, path)
			}
		}
		assert.Equal(t, strings.Fields(want), append([]string{}, in...), pattern)
		assert.Equal(t, in, out, pattern)
	}
	assert.False(t, filter{Include: []string{"*"}, Exclude: []string{"a"}}.takes("a"), "to exclude is stronger")
}

// A directory that is excluded is not read.
func TestAnExcludedDirectoryIsNotRead(t *testing.T) {
	dir := tree(t, "d/f", "e", "d/loop -> .")
	c := Config{Source: dir, filter: filter{Exclude: []string{"d"}}}
	var got []string
	for e := range c.entries(t.Context()) {
		got = append(got, e.key)
	}
	assert.Equal(t, []string{"e"}, got)
}

// Who writes the list may never end, and may write a line that is none.
func TestAListThatDoesNotEnd(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, list := net.Pipe()
	defer list.Close()
	c := Config{Source: tree(t, "a"), List: reader}
	go func() { _, _ = list.Write([]byte("a\n")) }()
	n := 0
	for e := range c.entries(ctx) {
		require.NoError(t, e.err)
		n++
		interrupt()
	}
	assert.Equal(t, 1, n)

	c.List = strings.NewReader("a\n" + strings.Repeat("x", 1<<20))
	var last entry
	for last = range c.entries(t.Context()) {
	}
	assert.Equal(t, "--files-from", last.path)
	require.EqualError(t, last.err, "line 2 is longer than 65536 bytes, so it is no path, and the lines from it on are not read")
}
