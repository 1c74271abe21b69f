package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/robustio"
)

// MakeDir makes a directory if it does not exist, and tries that it can be written to. It ignores "".
func MakeDir(flag, dir string) error {
	if dir == "" {
		return nil
	}
	made := os.MkdirAll(dir, 0o755)
	probe, wrong := os.MkdirTemp(dir, "")
	if err := cmp.Or(made, wrong, os.Remove(probe)); err != nil {
		return fmt.Errorf("--%s %s: want a directory that can be made or written to: %w", flag, dir, Reason(err))
	}
	return nil
}

// Reason is the first cause of an error, without the words around it. The cause of a file error does not name the path,
// which the message names already. An attempt.Error has its cause as the last of several.
func Reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[len(several.Unwrap())-1]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Await returns what do returns, or the end of the context if that is sooner: who opens or reads a pipe may wait for ever.
func Await[T any](ctx context.Context, do func() (T, error)) (none T, _ error) {
	done := make(chan func() (T, error), 1)
	go func() { x, err := do(); done <- func() (T, error) { return x, err } }()
	select {
	case got := <-done:
		return got()
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// ReadFile reads a regular file. A file that is not there has an error that is fs.ErrNotExist. A device or a pipe is
// refused: it would hold the reader, or give what nobody kept. The mark with which some editors begin UTF-8 is left out.
func ReadFile(path string) ([]byte, error) {
	if err := regular(path); err != nil {
		return nil, err
	}
	text, err := robustio.ReadFile(path) // Windows refuses a file that is replaced meanwhile
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// WriteFile replaces the content of a regular file, or makes one. It refuses anything else, as /dev/null. If the path is
// a link, it replaces what the link leads to. It writes a new file of its own name beside it, which it then renames: whoever
// reads has all of the old text or all of the new, also if several processes write. A new file goes through no link.
func WriteFile(path string, text []byte, mode fs.FileMode) error {
	path, err := resolved(path)
	if err == nil {
		err = regular(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	beside := path + "." + rand.Text() + ".new"
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = robustio.Rename(beside, path) // Windows refuses if another process reads or writes
	}
	if err != nil {
		_ = os.Remove(beside)
	}
	return err
}

func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("want a regular file, or none: it is another kind of file")
	}
	return err
}

// resolved is the path of the file to which a link leads, also if that file is not there yet.
func resolved(path string) (string, error) {
	for range 40 { // as Linux
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return path, err
		}
		path = filepath.Join(dir, filepath.Base(path))
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is no link
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(dir, to)
		}
	}
	return path, errors.New("the link leads in a circle")
}
