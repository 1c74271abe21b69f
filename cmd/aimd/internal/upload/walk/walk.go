// Package walk finds the files to upload, in the order of their keys, however
// many there are.
//
// The order is that in which S3 lists a bucket, by the bytes of the key. So a
// listing can be read beside the walk, and two files with the same key meet.
// No more than one batch of names per directory level is held in memory: a
// directory that has more is sorted on disk.
package walk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Entry is one file, or one thing that is not uploaded.
type Entry struct {
	// Path is where it is, as its finder can open it.
	Path string
	// Key is its path below the argument it was found under, with slashes; the
	// base name of an argument that is a file itself.
	Key string
	// Err is why it cannot be uploaded: an Ignored, if it is not meant to be.
	Err error
}

// Ignored is the reason to leave out what is no file to upload, which is no failure.
type Ignored string

func (i Ignored) Error() string { return string(i) }

// Broken is the error that ends a walk before its end: what comes after it is not known.
type Broken struct{ error }

func (b Broken) Unwrap() error { return b.error }

// What becomes of symbolic links.
type Links string

const (
	// FollowAll takes a link for what it points to. A link to a directory that it
	// lies in is ignored, or the walk would never end.
	FollowAll Links = "follow"
	// FollowFiles does so for links to files, and ignores links to directories.
	FollowFiles Links = "files"
	// FollowNone ignores all links.
	FollowNone Links = "skip"
)

// batch is how many names are read from a directory at a time.
const batch = 1024

// Why something is ignored.
const (
	ignoredLink    = Ignored("symbolic link, not followed")
	ignoredLoop    = Ignored("symbolic link to a directory that it lies in, not followed")
	ignoredSocket  = Ignored("socket, not a regular file")
	ignoredPipe    = Ignored("named pipe, not a regular file")
	ignoredDevice  = Ignored("device, not a regular file")
	ignoredStrange = Ignored("not a regular file")
)

// keyMost is the longest key of S3, in bytes of UTF-8.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
const keyMost = 1024

// Walker walks.
type Walker struct {
	Links Links
	// Prefix is what the keys will begin with; it counts for their length.
	Prefix string
}

// Files yields the files below the roots, directories or files, in the order of
// their keys. Of files with the same key all but the first root's come with an error.
func (w Walker) Files(ctx context.Context, roots []string) iter.Seq[Entry] {
	all := make([]iter.Seq[Entry], len(roots))
	for i, root := range roots {
		all[i] = w.root(ctx, root)
	}
	return w.checked(ctx, merged(all))
}

// root yields what is below one argument. The argument itself is followed if it
// is a link.
func (w Walker) root(ctx context.Context, path string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			yield(Entry{Path: path, Key: filepath.Base(path), Err: err})
		case info.IsDir():
			w.directory(ctx, path, "", nil, yield)
		default:
			yield(Entry{Path: path, Key: filepath.Base(path), Err: special(info.Mode())})
		}
	}
}

// checked ends the walk with the context, and refuses keys that S3 does not have.
func (w Walker) checked(ctx context.Context, entries iter.Seq[Entry]) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for e := range entries {
			if ctx.Err() != nil {
				return
			}
			if e.Err == nil {
				e.Err = w.keyError(e.Key)
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (w Walker) keyError(key string) error {
	switch {
	case !utf8.ValidString(key):
		return errors.New("the name is not UTF-8, as a key must be")
	case len(w.Prefix)+len(key) > keyMost:
		return errors.New("the key would be longer than 1024 bytes")
	}
	return nil
}

// directory yields what is below path; key is "" or ends in a slash. chain is
// the directories that it lies in.
func (w Walker) directory(ctx context.Context, path, key string, chain []fs.FileInfo, yield func(Entry) bool) bool {
	children := newSorter()
	defer children.close()
	info, err := w.read(ctx, path, children)
	if err != nil && !yield(Entry{Path: path, Key: key, Err: err}) {
		return false
	}
	chain = append(chain[:len(chain):len(chain)], info)
	for child, err := range children.all() {
		if err != nil {
			return yield(Entry{Path: path, Key: key, Err: err})
		}
		name, k := split(child)
		if !w.child(ctx, filepath.Join(path, strings.TrimSuffix(name, "/")), key+name, k, chain, yield) {
			return false
		}
	}
	return true
}

func (w Walker) child(ctx context.Context, path, key string, k kind, chain []fs.FileInfo, yield func(Entry) bool) bool {
	switch k {
	case directory:
		return w.directory(ctx, path, key, chain, yield)
	case linkedDirectory:
		if loops(path, chain) {
			return yield(Entry{Path: path, Key: strings.TrimSuffix(key, "/"), Err: ignoredLoop})
		}
		return w.directory(ctx, path, key, chain, yield)
	}
	return yield(Entry{Path: path, Key: key, Err: k.err(path)})
}

func (w Walker) read(ctx context.Context, path string, children *sorter) (fs.FileInfo, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	info, err := d.Stat()
	if err != nil {
		return nil, err
	}
	for {
		entries, err := d.ReadDir(batch)
		for _, e := range entries {
			if err := children.add(w.kind(path, e).join(e.Name())); err != nil {
				return info, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return info, nil
		case err != nil:
			return info, err
		case ctx.Err() != nil:
			return info, ctx.Err()
		}
	}
}

func loops(path string, chain []fs.FileInfo) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false // opening it will tell
	}
	for _, above := range chain {
		if above != nil && os.SameFile(above, info) {
			return true
		}
	}
	return false
}
