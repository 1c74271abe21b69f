package upload

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
)

// list is the file that --failed names, while it is written: beside the old one,
// which it replaces in the end. So what ends the program leaves the old list.
type list struct {
	// path is the file behind the links, beside the one that is written.
	path, beside string
	file         *os.File
	w            *bufio.Writer
}

func newList(path string) (*list, error) {
	l := &list{path: path}
	old, err := os.Stat(path)
	if err == nil {
		if l.path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	// One name, so that what a kill leaves is written over.
	l.beside = filepath.Join(filepath.Dir(l.path), "."+filepath.Base(l.path)+".aimd-new")
	if err := os.Remove(l.beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if l.file, err = os.OpenFile(l.beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return nil, err
	}
	if old != nil {
		if err := l.file.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(err, l.close(false))
		}
	}
	l.w = bufio.NewWriter(l.file)
	return l, nil
}

// is reports whether the path is one of the list's two files.
func (l *list) is(path string) bool {
	if base := filepath.Base(path); base != filepath.Base(l.path) && base != filepath.Base(l.beside) {
		return false // without a look at the file
	}
	here, err := os.Stat(path)
	return err == nil && (same(here, l.path) || same(here, l.beside))
}

func same(here fs.FileInfo, path string) bool {
	there, err := os.Stat(path)
	return err == nil && os.SameFile(here, there)
}

// add adds a path. Its error, if there is one, is that of close.
func (l *list) add(path string) { _, _ = l.w.WriteString(path + "\x00") }

// errListGone is of a list that is not there in the end.
var errListGone = errors.New("what was written is gone: removed, or another upload writes it as well")

// close puts the list in the place of the old one, or forgets it.
func (l *list) close(keep bool) (err error) {
	if keep {
		err = errors.Join(l.w.Flush(), l.file.Sync())
	}
	own, statErr := l.file.Stat()
	err = errors.Join(err, statErr, l.file.Close())
	if statErr == nil && !same(own, l.beside) {
		return errors.Join(err, errListGone) // not ours to move
	}
	if keep && err == nil {
		err = os.Rename(l.beside, l.path)
	}
	if !keep || err != nil {
		err = errors.Join(err, os.Remove(l.beside))
	}
	return err
}

// checkFailed refuses what the list must not replace.
func (c *Config) checkFailed() error {
	refused := func(what string) error {
		return fmt.Errorf("--failed %s: %s; want the name of a list that an upload wrote, or of no file", c.Failed, what)
	}
	info, err := os.Stat(c.Failed)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(c.Failed))
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return refused(errors.Unwrap(err).Error())
	}
	if !info.Mode().IsRegular() {
		return refused("is no regular file")
	}
	for _, root := range c.Roots {
		if same(info, root) {
			return refused("is one of the files to upload")
		}
	}
	if c.From != "" && same(info, c.From) {
		return nil // reading it tells
	}
	f, err := os.Open(c.Failed)
	if err != nil {
		return refused(errors.Unwrap(err).Error())
	}
	defer f.Close()
	if !walk.IsList(f) {
		return refused("is no list")
	}
	return nil
}
