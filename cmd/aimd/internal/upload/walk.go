package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
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
	if err != nil && !w.yield(entry{path, key, 0, err}) {
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
