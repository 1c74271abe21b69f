package upload

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
func keys(prefix string, walk func(walker)) (all []string) {
	walk(walker{prefix, func(e entry) bool {
		if e.err != nil {
			e.key += ": " + e.err.Error()
		}
		all = append(all, e.key)
		return true
	}})
	return all
}

func keysBelow(path string) []string {
	return keys("", func(w walker) { w.argument(path) })
}

// "a-b" comes before "a/b", and "a" before both, as in a listing of a bucket.
func TestOrderIsThatOfTheKeys(t *testing.T) {
	names := []string{"a-b/1", "a/b/c", "a.txt", "a!/x", "A", "é", "a/b.c", "ab", "a0", "~"}
	dir := tree(t, names...)
	slices.Sort(names)
	assert.Equal(t, names, keysBelow(dir))
}

func TestOrderOfRandomTrees(t *testing.T) {
	letters := []rune("ab-./!é~0")
	for range 5 {
		dir := t.TempDir()
		var want []string
		for range 60 {
			name := ""
			for range 1 + rand.IntN(4) {
				name += string(letters[rand.IntN(len(letters))])
			}
			name = strings.Trim(filepath.ToSlash(filepath.Clean("/"+name)), "/")
			path := filepath.Join(dir, name)
			if name == "" || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
				continue
			}
			if _, err := os.Stat(path); err == nil || os.WriteFile(path, nil, 0o644) != nil {
				continue
			}
			want = append(want, name)
		}
		slices.Sort(want)
		require.Equal(t, want, keysBelow(dir))
	}
}

func TestLinksAreFollowedButForLoops(t *testing.T) {
	dir := tree(t, "d/f", "d/up -> ..", "d/self -> .", "e -> d", "g -> d/f", "nowhere -> none")
	const loop = ": symbolic link to a directory that it lies in, not followed"
	assert.Equal(t, []string{
		"d/f", "d/self" + loop, "d/up" + loop, "e/f", "e/self" + loop, "e/up" + loop, "g",
		"nowhere: stat " + dir + "/nowhere: no such file or directory",
	}, keysBelow(dir))
}

func TestKeysThatS3DoesNotHave(t *testing.T) {
	dir := tree(t, "bad\xff", strings.Repeat("n", 200))
	for prefix, want := range map[int]string{825: ": the key would be longer than 1024 bytes", 824: ""} {
		assert.Equal(t, []string{"bad\xff: the name is not UTF-8, as a key must be", strings.Repeat("n", 200) + want},
			keys(strings.Repeat("p", prefix), func(w walker) { w.argument(dir) }))
	}
}

func TestDirectoryThatCannotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root can read everything: a directory that is gone when its turn comes.
		assert.Equal(t, []string{"x/: open /nowhere/x: no such file or directory"}, keys("", func(w walker) { w.directory("/nowhere/x", "x/", nil) }))
		return
	}
	dir := tree(t, "a/f", "b")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0))
	defer os.Chmod(filepath.Join(dir, "a"), 0o755)
	assert.Equal(t, []string{"a/: open " + dir + "/a: permission denied", "b"}, keysBelow(dir))
}
