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

func TestList(t *testing.T) {
	dir := tree(t, "a", "b\nc", "d/e", "d/f", "d/g", "h -> d/e")
	t.Chdir(dir)
	for name, c := range map[string]struct {
		list, dir string
		want      []string
	}{
		"newlines":                {dir + "/d/g\n\n" + dir + "/./a", dir, []string{"d/g", "a"}},
		"NUL":                     {dir + "/b\nc\x00" + dir + "/a\x00", dir, []string{"b\nc", "a"}},
		"a directory":             {dir + "/h\n" + dir + "/d\n", dir, []string{"h", "d/e", "d/f", "d/g"}},
		"elsewhere and gone":      {"a\nd/none", "d", []string{": is not below d; want paths as find d prints them", "none: stat d/none: no such file or directory"}},
		"the directory":           {dir + "/d", dir + "/d", []string{"e", "f", "g"}},
		"nothing":                 {"", dir, nil},
		"relative":                {"d/./e\n./d/f", "d", []string{"e", "f"}},
		"absolute below relative": {dir + "/d/e\n" + dir + "/d/f\n" + dir + "/a", "d", []string{"e", "f", ": is not below d; want paths as find d prints them"}},
		"relative below absolute": {"./d/e\nd/f", dir, []string{"d/e", "d/f"}},
	} {
		assert.Equal(t, c.want, keys("", func(w walker) { assert.NoError(t, w.listed(strings.NewReader(c.list), c.dir)) }), name)
	}
}

// A list that is not a list of paths does not fill the memory.
func TestListWithoutEnd(t *testing.T) {
	for name, b := range map[string]byte{"/dev/zero": 0, "no newline": 'x', "only newlines": '\n'} {
		list := endless{b, new(int)}
		err := walker{}.listed(list, ".")
		require.ErrorContains(t, err, "has no end of a path within 65536 bytes", name)
		assert.LessOrEqual(t, *list.read, 2*pathMost, name)
	}
}

// endless reads as one byte again and again, and counts the bytes.
type endless struct {
	b    byte
	read *int
}

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.b
	}
	*e.read += len(p)
	return len(p), nil
}
