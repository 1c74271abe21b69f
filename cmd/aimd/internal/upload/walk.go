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

// entry is a file to upload, or a thing that is not uploaded.
type entry struct {
	path string
	// key is the path below the argument, with slashes; the base name of an argument
	// that is a file itself.
	key string
	// err is why the file cannot be uploaded; an ignored if it is left out on purpose.
	err error
}

// ignored is the reason to leave out a thing that is no file to upload. It is no failure.
type ignored string

func (i ignored) Error() string { return string(i) }

// keyMost is the length of the longest key of S3, in bytes of UTF-8.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
const keyMost = 1024

// walker finds files, in the order of their keys by bytes: S3 lists a bucket in that order.
type walker struct {
	// prefix is how the keys will begin; it counts for their length.
	prefix string
	// yield takes an entry, and reports whether there should be more.
	yield func(entry) bool
}

// argument yields the file, or the files below the directory.
func (w walker) argument(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return w.file(path, filepath.Base(path), false)
	}
	return w.directory(path, "", nil)
}

// directory yields the files below path; key is "" or ends in a slash. The directory is
// read as a whole and sorted with "/" at the end of each directory's name, so a-b, a.b and
// a/b come as their keys do. above are the directories that path lies in.
func (w walker) directory(path, key string, above []fs.FileInfo) bool {
	info, children, err := children(path)
	if err != nil && !w.yield(entry{path, key, err}) {
		return false
	}
	above = append(slices.Clip(above), info)
	slices.SortFunc(children, func(a, b child) int { return strings.Compare(a.name, b.name) })
	for _, c := range children {
		path, key, more := filepath.Join(path, c.name), key+c.name, true
		switch dir, isDir := strings.CutSuffix(key, "/"); {
		case !isDir:
			more = w.file(path, key, c.regular)
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

// child is a name in a directory.
type child struct {
	// name ends in a slash if the child is a directory, or a link to one.
	name    string
	regular bool
}

// children reads the names in a directory: some 50 bytes of memory for each.
func children(path string) (info fs.FileInfo, all []child, err error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	info, err = d.Stat()
	for err == nil {
		var entries []fs.DirEntry
		entries, err = d.ReadDir(1024)
		for _, e := range entries {
			c := child{e.Name(), e.Type().IsRegular()}
			if e.Type()&fs.ModeSymlink != 0 {
				if to, err := os.Stat(filepath.Join(path, c.name)); err == nil && to.IsDir() {
					c.name += "/"
				}
			} else if e.IsDir() {
				c.name += "/"
			}
			all = append(all, c)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return info, all, err
}

// loops reports whether the path leads to a directory that it lies in.
func loops(path string, above []fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(above, func(dir fs.FileInfo) bool { return os.SameFile(dir, info) })
}

// file yields a file, or the reason why it is not uploaded.
func (w walker) file(path, key string, regular bool) bool {
	e := entry{path: path, key: key}
	if !regular {
		e.err = special(path)
	}
	switch {
	case e.err != nil:
	case !utf8.ValidString(key):
		e.err = errors.New("the name is not UTF-8, as a key must be")
	case len(w.prefix)+len(key) > keyMost:
		e.err = fmt.Errorf("the key would be longer than %d bytes", keyMost)
	}
	return w.yield(e)
}

// special is why the path leads to no regular file; nil if it does.
func special(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeNamedPipe != 0:
		return ignored("named pipe, not a regular file")
	case mode&fs.ModeDevice != 0:
		return ignored("device, not a regular file")
	}
	return ignored("not a regular file")
}

// pathMost is the longest path in a list, in bytes. Our choice: 16 times Linux's PATH_MAX.
const pathMost = 64 << 10

// listed yields the files that the list names, in its order. The names are separated by
// NUL if the list has one, as find -print0 writes them, else by newlines. A name must be
// below the directory dir.
func (w walker) listed(list io.Reader, dir string) error {
	b := bufio.NewReaderSize(list, pathMost)
	end := byte('\n')
	// A NUL ends the first path or comes never.
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

// below yields the file, or the files below the directory, that a list names.
func (w walker) below(path, dir string) bool {
	root, errRoot := filepath.Abs(dir)
	abs, errAbs := filepath.Abs(path)
	rel, err := filepath.Rel(root, abs)
	if err = errors.Join(errRoot, errAbs, err); err == nil && !filepath.IsLocal(rel) {
		err = fmt.Errorf("is not below %s", dir)
	}
	if err != nil {
		return w.yield(entry{path: path, err: err})
	}
	key := filepath.ToSlash(rel)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return w.file(path, key, false)
	}
	return w.directory(path, strings.TrimPrefix(key+"/", "./"), nil)
}
