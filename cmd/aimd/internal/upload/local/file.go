// Package local reads files that others may be writing to.
package local

import (
	"crypto/md5"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// What happens to files while they are read.
var (
	ErrShrunk   = errors.New("the file shrank while it was read")
	ErrGrew     = errors.New("the file grew while it was read")
	ErrChanged  = errors.New("the file changed while it was read")
	ErrVanished = errors.New("the file vanished while it was read")
)

// File is an open file, to be read any number of times as it was when it was
// opened, or not at all.
type File struct {
	path     string
	f        *os.File
	size     int64
	modified time.Time
	// broken is told when a read fails.
	broken func(error)
	// sums are those of the whole file that are known, by the name of the algorithm.
	sums map[string][]byte
}

// Open opens a regular file. broken is told of every read that fails or finds the
// file cut short, from whatever goroutine reads: what reads for the network would
// take it for a failure of the network, and try again.
func Open(path string, broken func(error)) (*File, error) {
	// A pipe that took the file's place must not hold us up.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("no regular file any more")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &File{path: path, f: f, size: info.Size(), modified: info.ModTime(), broken: broken, sums: map[string][]byte{}}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Path is what the file was opened by, Size its size at that time.
func (f *File) Path() string { return f.path }
func (f *File) Size() int64  { return f.size }

// Section reads n bytes from off, or fails.
func (f *File) Section(off, n int64) *io.SectionReader {
	return io.NewSectionReader(whole{f}, off, n)
}

// whole reads the file for sections that end within it, so that an end of file
// is one that came too soon.
type whole struct{ f *File }

func (w whole) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.f.f.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = ErrShrunk
	}
	w.f.broken(err)
	return n, err
}

// Unchanged returns an error if the file is not what it was when it was opened.
// What changes within the resolution of the file's time and keeps the size
// goes unseen.
func (f *File) Unchanged() error {
	now, err := f.f.Stat()
	if err != nil {
		return err
	}
	switch {
	case now.Size() < f.size:
		return ErrShrunk
	case now.Size() > f.size:
		return ErrGrew
	case !now.ModTime().Equal(f.modified):
		return ErrChanged
	}
	there, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrVanished
	case err != nil:
		return err
	case !os.SameFile(now, there):
		return fmt.Errorf("%w: another took its place", ErrChanged)
	}
	return nil
}

// Sum is the checksum of n bytes from off. That of the whole file is computed once.
func (f *File) Sum(a *sum.Algorithm, off, n int64) ([]byte, error) {
	return f.once(a.Name, a.New, off, n)
}

// MD5 is the same for MD5.
func (f *File) MD5(off, n int64) ([]byte, error) { return f.once("MD5", md5.New, off, n) }

func (f *File) once(name string, newHash func() hash.Hash, off, n int64) ([]byte, error) {
	whole := off == 0 && n == f.size
	if whole && f.sums[name] != nil {
		return f.sums[name], nil
	}
	s, err := sum.Of(newHash(), f.Section(off, n))
	if whole && err == nil {
		f.sums[name] = s
	}
	return s, err
}

// PartsETag is the ETag that the file has if it is uploaded in parts of that size.
func (f *File) PartsETag(part int64) (string, error) {
	var all [][]byte
	for off := int64(0); off < f.size; off += part {
		s, err := f.MD5(off, min(part, f.size-off))
		if err != nil {
			return "", err
		}
		all = append(all, s)
	}
	return sum.PartsETag(all), nil
}
