package walk

import (
	"context"
	"fmt"
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

// keys are the keys in the order of the walk, with the reason behind those that do not go.
func keys(w Walker, roots ...string) (all []string) {
	for e := range w.Files(context.Background(), roots) {
		if e.Err != nil {
			e.Key += ": " + e.Err.Error()
		}
		all = append(all, e.Key)
	}
	return all
}

// "a-b" comes before "a/b", and "a" before both, as in a listing of a bucket.
func TestOrderIsThatOfTheKeys(t *testing.T) {
	names := []string{"a-b/1", "a/b/c", "a.txt", "a!/x", "A", "é", "a/b.c", "ab", "a0", "z/", "~"}
	names = slices.DeleteFunc(names, func(s string) bool { return strings.HasSuffix(s, "/") })
	dir := tree(t, names...)
	slices.Sort(names)
	assert.Equal(t, names, keys(Walker{}, dir))
}

func TestOrderOfRandomTrees(t *testing.T) {
	const letters = "ab-./!é~0"
	for range 20 {
		dir := t.TempDir()
		var want []string
		for range 60 {
			name := ""
			for range 1 + rand.IntN(4) {
				name += string([]rune(letters)[rand.IntN(9)])
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
		require.Equal(t, want, keys(Walker{}, dir))
	}
}

func TestLinks(t *testing.T) {
	dir := tree(t, "d/f", "d/up -> ..", "d/self -> .", "e -> d", "g -> d/f", "nowhere -> none")
	for links, want := range map[Links][]string{
		FollowAll: {
			"d/f", "d/self: " + string(ignoredLoop), "d/up: " + string(ignoredLoop),
			"e/f", "e/self: " + string(ignoredLoop), "e/up: " + string(ignoredLoop), "g", "nowhere: symbolic link that leads nowhere",
		},
		FollowFiles: {
			"d/f", "d/self: " + string(ignoredLink), "d/up: " + string(ignoredLink), "e: " + string(ignoredLink), "g",
			"nowhere: symbolic link that leads nowhere",
		},
		FollowNone: {
			"d/f", "d/self: " + string(ignoredLink), "d/up: " + string(ignoredLink), "e: " + string(ignoredLink),
			"g: " + string(ignoredLink), "nowhere: " + string(ignoredLink),
		},
	} {
		assert.Equal(t, want, keys(Walker{Links: links}, dir), links)
	}
}

func TestRootsAreFollowedAndFilesGoByTheirName(t *testing.T) {
	dir := tree(t, "d/f", "link -> d", "x")
	assert.Equal(t, []string{"f", "x"}, keys(Walker{Links: FollowNone}, dir+"/link", dir+"/x"))
	assert.Len(t, keys(Walker{}, dir+"/none"), 1)
}

func TestSameKeyOfTwoRoots(t *testing.T) {
	dir := tree(t, "1/a", "1/b", "2/b", "2/c", "3/b")
	assert.Equal(t, []string{
		"a", "b", "b: " + dir + "/1/b has the same key and goes in its place", "b: " + dir + "/1/b has the same key and goes in its place", "c",
	}, keys(Walker{}, dir+"/1", dir+"/2", dir+"/3"))
}

func TestKeysThatS3DoesNotHave(t *testing.T) {
	dir := tree(t, "bad\xff", strings.Repeat("n", 200))
	assert.Equal(t, []string{
		"bad\xff: the name is not UTF-8, as a key must be",
		strings.Repeat("n", 200) + ": the key would be longer than 1024 bytes",
	}, keys(Walker{Prefix: strings.Repeat("p", 825)}, dir))
	assert.Equal(t, strings.Repeat("n", 200), keys(Walker{Prefix: strings.Repeat("p", 824)}, dir)[1])
}

func TestUnreadableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	dir := tree(t, "a/f", "b")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0))
	defer os.Chmod(filepath.Join(dir, "a"), 0o755)
	got := keys(Walker{}, dir)
	require.Len(t, got, 2)
	assert.Contains(t, got[0], "a/: open ")
	assert.Equal(t, "b", got[1])
}

func TestTheWalkEndsWithTheContextAndTheLoop(t *testing.T) {
	dir := tree(t, "a", "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for range (Walker{}).Files(ctx, []string{dir}) {
		n++
		cancel()
	}
	assert.Equal(t, 1, n)
	for range (Walker{}).Files(t.Context(), []string{dir, dir}) {
		break
	}
}

func TestSorterSpills(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000, 5003} {
		s := &sorter{most: 40 * 100} // some hundred strings
		var want []string
		for i := range n {
			x := fmt.Sprintf("%x", rand.Uint64N(uint64(5*n)))
			if i%7 == 0 {
				x = ""
			}
			want = append(want, x)
			require.NoError(t, s.add(x))
		}
		slices.Sort(want)
		var got []string
		for x, err := range s.all() {
			require.NoError(t, err)
			got = append(got, x)
		}
		require.Equal(t, want, got)
		if n >= 1000 {
			require.Greater(t, len(s.runs), 5)
			require.LessOrEqual(t, len(s.held), 120, "memory is bounded")
		}
		s.close()
		if s.file != nil {
			_, err := os.Stat(s.file.Name())
			require.ErrorIs(t, err, os.ErrNotExist)
		}
	}
}

func TestList(t *testing.T) {
	dir := tree(t, "a", "b\nc", "d/e", "d/f", "d/g", "h -> d/e", "one/x", "two/x")
	for name, c := range map[string]struct {
		list  string
		roots []string
		want  []string
	}{
		"newlines, twice the same":              {dir + "/d/g\n\n" + dir + "/a\n" + dir + "/./a", []string{dir}, []string{"a", "d/g"}},
		"NUL":                                   {dir + "/b\nc\x00" + dir + "/a\x00", []string{dir}, []string{"a", "b\nc"}},
		"a directory and what is in it, a link": {dir + "/h\n" + dir + "/d/f\n" + dir + "/d\n", []string{dir}, []string{"d/e", "d/f", "d/g", "h"}},
		"elsewhere and gone": {dir + "/d/e\n" + dir + "/a\n" + dir + "/d/none", []string{dir + "/d"},
			[]string{": lies below none of the arguments", "e", "none: stat " + dir + "/d/none: no such file or directory"}},
		"an argument that is a file": {dir + "/d/e", []string{dir + "/d/e"}, []string{"e"}},
		"the root":                   {dir + "/d", []string{dir + "/d"}, []string{"e", "f", "g"}},
		"the second of two":          {dir + "/two/x", []string{dir + "/one", dir + "/two"}, []string{"x: " + dir + "/one/x has the same key and goes in its place"}},
		"nothing":                    {"", []string{dir}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ReadList(strings.NewReader(c.list), c.roots)
			require.NoError(t, err)
			defer l.Close()
			var got []string
			for e := range (Walker{Links: FollowAll}).Listed(t.Context(), l) {
				if e.Err != nil {
					e.Key += ": " + e.Err.Error()
				}
				got = append(got, e.Key)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestListOfAbsolutePathsBelowARelativeRoot(t *testing.T) {
	dir := tree(t, "d/e")
	t.Chdir(dir)
	assert.Equal(t, "e", keyBelow(filepath.Join(dir, "d/e"), []string{"none", "d"}))
	assert.Equal(t, "d/e", keyBelow("d/e", []string{dir}))
	assert.Equal(t, "e", keyBelow("./d/../d/e", []string{"d"}))
	assert.Empty(t, keyBelow("../x", []string{"."}))
}
