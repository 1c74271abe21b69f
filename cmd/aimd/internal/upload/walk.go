package upload

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// keyMost is the length of the longest key of S3, in bytes of UTF-8.
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
	keyMost = 1024
	// pathMost bounds a path of a list, in bytes. Our choice: 16 times Linux's PATH_MAX.
	pathMost = 64 << 10
)

// entry is a file to upload. err is why it cannot be uploaded.
type entry struct {
	path, key string
	err       error
}

// ignored is the reason to leave out a thing that is no file to upload. It is no failure.
type ignored string

func (i ignored) Error() string { return string(i) }

// walker finds files, in the order of their keys by bytes: S3 lists a bucket in that order.
type walker struct {
	// prefix is how the keys will begin; it counts for their length.
	prefix string
	// yield takes an entry, whose key is the path below the directory with slashes, and
	// reports whether there should be more.
	yield func(entry) bool
}

// argument yields the file under its name, or the files below the directory.
func (w walker) argument(path string) bool {
	if isDirectory(path) {
		return w.directory(path, "", nil)
	}
	return w.file(path, filepath.Base(path))
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// directory yields the files below path; key is "" or ends in a slash. The directory is
// read as a whole and sorted with "/" at the end of each directory's name, so a-b, a.b and
// a/b come as their keys do. above are the directories that path lies in.
func (w walker) directory(path, key string, above []fs.FileInfo) bool {
	info, err := os.Stat(path)
	if err == nil && slices.ContainsFunc(above, func(dir fs.FileInfo) bool { return os.SameFile(dir, info) }) {
		loop := ignored("symbolic link to a directory that it lies in, not followed")
		return w.yield(entry{path, strings.TrimSuffix(key, "/"), loop})
	}
	entries, err := os.ReadDir(path)
	if err != nil && !w.yield(entry{path, key, err}) {
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
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = ignored("not a regular file")
	case !utf8.ValidString(key):
		err = errors.New("the name is not UTF-8, as a key must be")
	case len(w.prefix)+len(key) > keyMost:
		err = fmt.Errorf("the key would be longer than %d bytes", keyMost)
	}
	return w.yield(entry{path, key, err})
}

// listed yields the files that the list names, in its order, if they are below dir. Names
// end in NUL if the list has one, as find -print0 writes them, else in a newline.
func (w walker) listed(list io.Reader, dir string) error {
	paths, end := bufio.NewScanner(list), "\n"
	paths.Buffer(nil, pathMost)
	paths.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		if bytes.IndexByte(data, 0) >= 0 {
			end = "\x00"
		}
		// Empty names are part of the next path: so an endless list of empty names, as /dev/zero, ends.
		path := bytes.TrimLeft(data, end)
		i := bytes.Index(path, []byte(end))
		switch {
		case i >= 0:
			return len(data) - len(path) + i, path[:i], nil
		case atEnd && len(path) > 0:
			return len(data), path, nil
		}
		return 0, nil, nil
	})
	for paths.Scan() {
		if !w.below(paths.Text(), dir) {
			return nil
		}
	}
	if errors.Is(paths.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("has no end of a path within %d bytes; want paths that end in NUL or newline", pathMost)
	}
	return paths.Err()
}

// below yields the file, or the files below the directory, if the path is below dir.
func (w walker) below(path, dir string) bool {
	root, rootErr := filepath.Abs(dir)
	file, fileErr := filepath.Abs(path)
	rel, err := filepath.Rel(root, file)
	if err = cmp.Or(rootErr, fileErr, err); err == nil && !filepath.IsLocal(rel) {
		err = fmt.Errorf("is not below %s; want paths as find %s prints them", dir, dir)
	}
	key := filepath.ToSlash(rel)
	switch {
	case err != nil:
		return w.yield(entry{path, "", err})
	case isDirectory(path):
		return w.directory(path, strings.TrimPrefix(key+"/", "./"), nil)
	}
	return w.file(path, key)
}
