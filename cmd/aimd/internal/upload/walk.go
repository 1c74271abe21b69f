package upload

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// keyMost is the length of the longest key of S3, in bytes of UTF-8.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
const keyMost = 1024

// entry is a file to upload. err is why it cannot be uploaded.
type entry struct {
	path, key string
	size      int64
	err       error
}

// ignored is the reason to leave out a thing that is no file to upload. It is no failure.
type ignored string

func (i ignored) Error() string { return string(i) }

// entries finds the files of the list, the file that is the source, or the files below it. Their
// order is the order of their keys by bytes, as S3 lists a bucket. A key is the prefix, and the
// file's name or its path below the directory with slashes.
func (c *Config) entries(ctx context.Context) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		w := walker{yield, c.Prefix, c.filter}
		switch {
		case c.List != nil:
			w.list(ctx, c.Source, c.List)
		case isDirectory(c.Source):
			w.directory(c.Source, c.Prefix, nil)
		default:
			w.file(c.Source, c.Prefix+filepath.Base(c.Source))
		}
	}
}

// walker yields the entries that the filter takes. yield reports whether there should be more.
type walker struct {
	yield  func(entry) bool
	prefix string
	filter
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// directory yields the files below path; key is "" or ends in a slash. The directory is
// read as a whole and sorted with "/" at the end of each directory's name, so a-b, a.b and
// a/b come as their keys do. above are the directories that path lies in.
func (w walker) directory(path, key string, above []fs.FileInfo) bool {
	if below := strings.TrimPrefix(key, w.prefix); below != "" && chosen(w.Exclude, strings.TrimSuffix(below, "/")) {
		return true
	}
	info, err := os.Stat(path)
	if err == nil && slices.ContainsFunc(above, func(dir fs.FileInfo) bool { return os.SameFile(dir, info) }) {
		loop := ignored("symbolic link to a directory that it lies in, not followed")
		return w.yield(entry{path, strings.TrimSuffix(key, "/"), 0, loop})
	}
	entries, err := os.ReadDir(path)
	if err != nil && !w.yield(entry{path, key, 0, cli.Reason(err)}) {
		return false
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && isDirectory(filepath.Join(path, name)) {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		more := false
		if strings.HasSuffix(name, "/") {
			more = w.directory(filepath.Join(path, name), key+name, append(slices.Clip(above), info))
		} else {
			more = w.file(filepath.Join(path, name), key+name)
		}
		if !more {
			return false
		}
	}
	return true
}

// file yields a file, or the reason why it is not uploaded.
func (w walker) file(path, key string) bool {
	if !w.takes(strings.TrimPrefix(key, w.prefix)) {
		return true
	}
	info, err := os.Stat(path)
	var size int64
	switch {
	case err != nil:
		err = cli.Reason(err)
	case !info.Mode().IsRegular():
		err = ignored("not a regular file")
	case !utf8.ValidString(key):
		err = errors.New("the name is not UTF-8, as a key must be")
	case len(key) > keyMost:
		err = fmt.Errorf("the key would be longer than %d bytes", keyMost)
	default:
		size = info.Size()
	}
	return w.yield(entry{path, key, size, err})
}

// list finds the files of a list: each line is a path below the directory. They may come in any order.
func (w walker) list(ctx context.Context, dir string, list io.Reader) {
	in := bufio.NewScanner(list)
	for n := 1; ; n++ {
		line, err := cli.Await(ctx, func() (string, error) { // who writes the list may be slow, or never end
			if in.Scan() {
				return in.Text(), nil
			}
			return "", cmp.Or(in.Err(), io.EOF)
		})
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors begin UTF-8 with that mark
		}
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line %d is longer than %d bytes, so it is no path, and the lines from it on are not read", n, bufio.MaxScanTokenSize)
		}
		switch {
		case err == io.EOF, ctx.Err() != nil:
			return
		case err != nil:
			w.yield(entry{path: "--files-from", err: cli.Reason(err)})
			return
		case line != "" && !w.line(dir, line):
			return
		}
	}
}

func (w walker) line(dir, line string) bool {
	key := w.prefix + path.Clean(filepath.ToSlash(line))
	if local := filepath.FromSlash(line); filepath.IsLocal(local) {
		return w.file(filepath.Join(dir, local), key)
	}
	return w.yield(entry{line, key, 0, errors.New("want a path below the directory")})
}

// filter chooses files by their paths below the source, with slashes. A pattern without a slash is for the name of a file
// or a directory, at any depth; another is for the path. Files below a directory are chosen with it.
type filter struct{ Include, Exclude []string }

// takes reports whether the file is uploaded: it is included, or all are, and it is not excluded.
func (f filter) takes(path string) bool {
	return (len(f.Include) == 0 || chosen(f.Include, path)) && !chosen(f.Exclude, path)
}

// chosen reports whether a pattern is for the path, or for a directory that it lies in.
func chosen(patterns []string, path string) bool {
	for end := range len(path) + 1 {
		if (end == len(path) || path[end] == '/') && slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path[:end]) }) {
			return true
		}
	}
	return false
}

func matches(pattern, path string) bool {
	if pattern = strings.TrimSuffix(pattern, "/"); !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(pattern, "/"), path)
}
