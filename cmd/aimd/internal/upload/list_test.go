package upload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed reads a list of paths.
func listed(t *testing.T, list string) []string {
	t.Helper()
	content, err := os.ReadFile(list)
	require.NoError(t, err)
	if len(content) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
}

// Whatever ends the run, a file is in the store or in the list, which a second run empties.
func TestListHasWhatWasNotBegun(t *testing.T) {
	type ending = func(w http.ResponseWriter, r *http.Request, interrupt func()) bool
	for _, from := range []bool{true, false} {
		for name, end := range map[string]ending{
			"interrupted": func(_ http.ResponseWriter, _ *http.Request, interrupt func()) bool { interrupt(); return false },
			"expired":     func(w http.ResponseWriter, r *http.Request, _ func()) bool { return deny(w, r, 403, "ExpiredToken") },
		} {
			t.Run(fmt.Sprintf("%s, --from %v", name, from), func(t *testing.T) {
				w := newWorld(t)
				list := w.list(100)
				with := func(c *Config) {
					if c.Failed = list; from {
						c.From = list
					}
				}
				ctx, interrupt := context.WithCancel(t.Context())
				var puts atomic.Int32
				w.set(func(rw http.ResponseWriter, r *http.Request) bool {
					var n int32
					if isPut(r) {
						n = puts.Add(1)
					}
					if n < 5 {
						return false
					}
					if n == 5 { // a later one may still be at it when the run has ended
						assert.Len(t, listed(t, list), 100, "a kill leaves the old list")
					}
					return end(rw, r, interrupt)
				})
				o := w.runWithin(ctx, with, func(c *Config) { c.MaxWindow = 4 })
				require.Error(t, o.err)
				assert.EqualValues(t, 100, o.Uploaded+o.Failed+o.NotBegun)
				assert.Greater(t, o.NotBegun, int64(50))
				w.requireStoredOr(listed(t, list), 100)

				w.set(nil)
				again := w.run(with, func(c *Config) { c.From = list })
				require.NoError(t, again.err)
				assert.Len(t, w.stored(), 100)
				assert.Empty(t, listed(t, list))
				beside, err := os.ReadDir(filepath.Dir(list))
				require.NoError(t, err)
				require.Len(t, beside, 1, "nothing is left beside it")
				info, err := beside[0].Info()
				require.NoError(t, err)
				assert.EqualValues(t, 0o600, info.Mode().Perm(), "as it was")
			})
		}
	}
}

// list writes so many files, and a list of them.
func (w *world) list(files int) string {
	list := filepath.Join(w.t.TempDir(), "list")
	all := strings.Join(w.files(files), "\x00") + "\x00"
	require.NoError(w.t, os.WriteFile(list, []byte(all), 0o600))
	return list
}

// requireStoredOr wants each file in the store or else in the list.
func (w *world) requireStoredOr(left []string, files int) {
	stored := w.stored()
	for i := range files {
		name := fmt.Sprintf("%03d", i)
		if _, there := stored["p/"+name]; !there {
			require.Contains(w.t, left, filepath.Join(w.dir, name))
		}
	}
}

// Without a list the rest is counted, for as long as a user waits.
func TestSummaryCountsWhatWasNotBegun(t *testing.T) {
	w := newWorld(t)
	w.files(300)
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return isPut(r) && deny(rw, r, 403, "ExpiredToken")
	})
	o := w.run()
	require.ErrorContains(t, o.err, "ExpiredToken")
	assert.EqualValues(t, 300, o.Failed+o.NotBegun)
	assert.False(t, o.Uncounted)
	assert.Contains(t, o.String(), fmt.Sprintf(", %d not begun in ", o.NotBegun))
	assert.Contains(t, Summary{NotBegun: 7, Uncounted: true}.String(), "7 or more not begun")
}

// What is no list is not written over.
func TestFailedNeedsAList(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "photo")
	for name, content := range map[string]string{
		"photo": "a photo", "text": "a letter", "archive": "tar\x00\x00\x00", "long": strings.Repeat("x", 2<<20) + "\x00",
		"list": "/a\x00/b\nc\x00", "empty": "", "lines": root + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "directory"), 0o755))
	require.NoError(t, os.Symlink(root, filepath.Join(dir, "link")))
	for name, want := range map[string]string{
		"photo": "is one of the files to upload", "link": "is one of the files to upload", "directory": "is no regular file",
		"text": "is no list", "archive": "is no list", "long": "is no list", "none/list": "no such file or directory",
		"list": "", "empty": "", "new": "", "lines": "is no list",
	} {
		c := Config{Roots: []string{root}, Failed: filepath.Join(dir, name)}
		before, _ := os.ReadFile(c.Failed)
		err := c.check()
		if want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "--failed "+c.Failed+": "+want, name)
		after, _ := os.ReadFile(c.Failed)
		assert.Equal(t, before, after)
	}
	c := Config{Roots: []string{root}, Failed: filepath.Join(dir, "lines"), From: filepath.Join(dir, "lines")}
	require.NoError(t, c.check(), "what --from reads is a list")
}

// A file that is no list does not become one because it is --from and --failed.
func TestFromNeedsAList(t *testing.T) {
	w := newWorld(t)
	path := w.write("letter", "Dear reader,\nthis is no list.\n")
	o := w.run(func(c *Config) { c.From, c.Failed = path, path })
	require.EqualError(t, o.err, "--from "+path+": none of its paths lies below an argument")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "Dear reader,\nthis is no list.\n", string(content))
}

// A list that cannot be written as a whole leaves the old one.
func TestListThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte("/old\x00"), 0o644))
	l, err := newList(path)
	require.NoError(t, err)
	require.NoError(t, l.file.Close())
	l.add("/new")
	require.Error(t, l.close(true))
	assert.Equal(t, []string{"/old"}, listed(t, path))
	_, err = os.Stat(l.beside)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Whatever else ends the run, it says that there is no list.
func TestListThatCannotBeWrittenIsToldOf(t *testing.T) {
	for name, status := range map[string]int{"interrupted": 0, "stopped": 400, "failed": 403} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.files(3)
			dir := filepath.Join(t.TempDir(), "gone")
			require.NoError(t, os.Mkdir(dir, 0o755))
			ctx, interrupt := context.WithCancel(t.Context())
			w.set(func(rw http.ResponseWriter, r *http.Request) bool {
				if !isPut(r) {
					return false
				}
				assert.NoError(t, os.RemoveAll(dir))
				code := "ExpiredToken"
				switch status {
				case 0:
					interrupt()
					return false
				case 403:
					code = "AccessDenied"
				}
				return deny(rw, r, status, code)
			})
			o := w.runWithin(ctx, func(c *Config) { c.Failed, c.MaxWindow, c.Force = filepath.Join(dir, "list"), 1, true })
			require.Error(t, o.err)
			assert.Contains(t, o.stderr+o.err.Error(), "--failed "+filepath.Join(dir, "list")+" is not written: ")
		})
	}
}

// Two runs that write the same list do not write into each other's.
func TestTwoRunsWithOneList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte("/old\x00"), 0o644))
	first, err := newList(path)
	require.NoError(t, err)
	second, err := newList(path)
	require.NoError(t, err)
	first.add("/first")
	require.ErrorIs(t, first.close(true), errListGone)
	assert.Equal(t, []string{"/old"}, listed(t, path))
	second.add("/second")
	require.NoError(t, second.close(true))
	assert.Equal(t, []string{"/second"}, listed(t, path))
}

// A list that may lack something leaves the old one.
func TestListOfAWalkThatBroke(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte("/old\x00"), 0o644))
	r, err := newReporter(Config{Failed: path, Quiet: true}, nil)
	require.NoError(t, err)
	r.notBegun("/new")
	unlisted, broken := r.close(Summary{Uncounted: true})
	require.NoError(t, errors.Join(unlisted, broken))
	assert.Equal(t, []string{"/old"}, listed(t, path))
}
