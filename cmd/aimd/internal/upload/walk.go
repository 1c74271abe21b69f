package upload

import (
	"bufio"
	"bytes"
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
	// pathMost is the length of the longest path in a list, in bytes. Our choice: 16 times
	// Linux's PATH_MAX.
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

// argument yields the file, whose key is its name, or the files below the directory.
func (w walker) argument(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return w.file(path, filepath.Base(path))
	}
	return w.directory(path, "", nil)
}

// directory yields the files below path; key is "" or ends in a slash. The directory is
// read as a whole and sorted with "/" at the end of each directory's name, so a-b, a.b and
// a/b come as their keys do. above are the directories that path lies in.
func (w walker) directory(path, key string, above []fs.FileInfo) bool {
	info, names, err := read(path)
	if err != nil && !w.yield(entry{path, key, err}) {
		return false
	}
	above = append(slices.Clip(above), info)
	slices.Sort(names)
	for _, name := range names {
		path, key, more := filepath.Join(path, name), key+name, true
		switch dir, isDir := strings.CutSuffix(key, "/"); {
		case !isDir:
			more = w.file(path, key)
		case loops(path, above):
			more = w.yield(entry{path, dir, ignored("symbolic link to a directory that it lies in, not followed")})
		default:
			more = w.directory(path, key, above)
		}
		if !more {
			return false
		}
	}
	return true
}

// read reads the names in a directory, with "/" if a name is a directory or a link to one.
func read(path string) (info fs.FileInfo, names []string, err error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	info, err = d.Stat()
	for err == nil {
		var entries []fs.DirEntry
		entries, err = d.ReadDir(1024) // so that only the names stay in memory
		for _, e := range entries {
			name, isDir := e.Name(), e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				to, err := os.Stat(filepath.Join(path, name))
				isDir = err == nil && to.IsDir()
			}
			if isDir {
				name += "/"
			}
			names = append(names, name)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return info, names, err
}

// loops reports whether the path leads to a directory that it lies in.
func loops(path string, above []fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(above, func(dir fs.FileInfo) bool { return os.SameFile(dir, info) })
}

// file yields a file, or the reason why it is not uploaded.
func (w walker) file(path, key string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.Mode()&fs.ModeNamedPipe != 0:
		err = ignored("named pipe, not a regular file")
	case info.Mode()&fs.ModeDevice != 0:
		err = ignored("device, not a regular file")
	case !info.Mode().IsRegular():
		err = ignored("not a regular file")
	case !utf8.ValidString(key):
		err = errors.New("the name is not UTF-8, as a key must be")
	case len(w.prefix)+len(key) > keyMost:
		err = fmt.Errorf("the key would be longer than %d bytes", keyMost)
	}
	return w.yield(entry{path, key, err})
}

// listed yields the files that the list names, in its order. The names are separated by
// NUL if the list has one, as find -print0 writes them, else by newlines.
func (w walker) listed(list io.Reader, dir string) error {
	b := bufio.NewReaderSize(list, pathMost)
	end := byte('\n')
	// If there is a NUL, it ends the first path.
	if start, _ := b.Peek(pathMost); bytes.IndexByte(start, 0) >= 0 {
		end = 0
	}
	for {
		line, err := b.ReadSlice(end)
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("a path of more than %d bytes: no list of paths", pathMost)
		}
		path := strings.TrimSuffix(string(line), string(rune(end)))
		if path != "" && !w.below(path, dir) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// below yields the file, or the files below the directory, if the path is below dir.
func (w walker) below(path, dir string) bool {
	root, errRoot := filepath.Abs(dir)
	abs, errAbs := filepath.Abs(path)
	rel, err := filepath.Rel(root, abs)
	if err = errors.Join(errRoot, errAbs, err); err == nil && !filepath.IsLocal(rel) {
		err = fmt.Errorf("is not below %s", dir)
	}
	key := filepath.ToSlash(rel)
	if err != nil {
		return w.yield(entry{path, "", err})
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return w.file(path, key)
	}
	return w.directory(path, strings.TrimPrefix(key+"/", "./"), nil)
}
