package walk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// List is a list of paths, to walk these alone.
type List struct {
	roots  []string
	sorter *sorter
}

// pathMost is the longest path in a list, in bytes.
const pathMost = 1 << 20

// errTooLong is of what is no list of paths.
var errTooLong = fmt.Errorf("a path of more than %d bytes: no list of paths", pathMost)

// ReadList reads paths that are ended by NUL if there is one among them, as find
// -print0 and --failed write them, else by newlines. Each must lie below one of
// the roots: one that does not becomes an Entry with an error, and a list of such
// paths alone is refused. Close the list when done.
func ReadList(r io.Reader, roots []string) (*List, error) {
	l := &List{roots: roots, sorter: newSorter()}
	b := bufio.NewReaderSize(r, pathMost)
	end := byte('\n')
	// A NUL can only be in the first path or right after it.
	if start, _ := b.Peek(pathMost); bytes.IndexByte(start, 0) >= 0 {
		end = 0
	}
	some, below := false, false
	err := records(b, end, func(path string) error {
		key := keyBelow(path, roots)
		some, below = true, below || key != ""
		// Sorted by key, then path. A path below no root comes first, with an empty key.
		return l.sorter.add(key + "\x00" + path)
	})
	if err == nil && some && !below {
		err = errors.New("none of its paths lies below an argument")
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// records calls f with what stands before each end that is not empty, the last
// perhaps without an end.
func records(b *bufio.Reader, end byte, f func(string) error) error {
	for {
		record, err := b.ReadSlice(end)
		if errors.Is(err, bufio.ErrBufferFull) {
			return errTooLong
		}
		if path := strings.TrimSuffix(string(record), string(rune(end))); path != "" {
			if err := f(path); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// IsList reports whether it is what --failed writes: paths, each ended by NUL. It
// looks at all of it: an archive may well begin so.
func IsList(r io.Reader) bool {
	b := bufio.NewReaderSize(r, pathMost)
	for {
		record, err := b.ReadSlice(0)
		switch {
		case errors.Is(err, io.EOF):
			return len(record) == 0
		case err != nil, len(record) == 1:
			return false
		}
	}
}

// Close forgets the list.
func (l *List) Close() { l.sorter.close() }

// keyBelow is the key of a path below one of the roots, "" if it is below none.
func keyBelow(path string, roots []string) string {
	for _, root := range roots {
		rel, err := relative(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if info, err := os.Stat(root); err == nil && !info.IsDir() {
			rel = filepath.Base(root)
		}
		key := filepath.ToSlash(rel)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			// As in a walk, a directory's keys sort with a slash.
			key += "/"
		}
		return key
	}
	return ""
}

// relative is filepath.Rel, also if only one of the two is absolute.
func relative(root, path string) (string, error) {
	if filepath.IsAbs(root) != filepath.IsAbs(path) {
		for _, p := range []*string{&root, &path} {
			abs, err := filepath.Abs(*p)
			if err != nil {
				return "", err
			}
			*p = abs
		}
	}
	return filepath.Rel(root, path)
}

// Listed yields what the list names, in the order of the keys, each once.
func (w Walker) Listed(ctx context.Context, l *List) iter.Seq[Entry] {
	return w.checked(ctx, func(yield func(Entry) bool) {
		covered, last := "", ""
		for record, err := range l.sorter.all() {
			if err != nil {
				yield(Entry{Err: Broken{err}})
				return
			}
			key, path, _ := strings.Cut(record, "\x00")
			switch {
			case key == "":
				err = errors.New("lies below none of the arguments")
			case key == last, covered != "" && strings.HasPrefix(key, covered):
				continue
			case key == "./":
				// A root itself: all of it.
				if !w.directory(ctx, path, "", nil, yield) {
					return
				}
				continue
			case strings.HasSuffix(key, "/"):
				covered = key
				if !w.directory(ctx, path, key, nil, yield) {
					return
				}
				continue
			}
			last = key
			if err == nil {
				err = l.fileError(path, key)
			}
			if !yield(Entry{Path: path, Key: key, Err: err}) {
				return
			}
		}
	})
}

func (l *List) fileError(path, key string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// What lost its key to a file of an earlier root does not get it now.
	for _, root := range l.roots {
		other := filepath.Join(root, filepath.FromSlash(key))
		if r, err := os.Stat(root); err == nil && !r.IsDir() {
			other = root
		}
		if filepath.Clean(path) == other {
			break
		}
		if _, err := os.Stat(other); err == nil && keyBelow(other, []string{root}) == key {
			return sameKey(other)
		}
	}
	return special(info.Mode())
}
