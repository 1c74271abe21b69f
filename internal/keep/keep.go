// Package keep keeps small files over restarts: whatever happens, a file is either
// the old one or the new one, whole, and what is no regular file is left alone.
package keep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aimd-go/aimd/internal/setting"
)

// Read returns what the regular file holds, or an error if that is more than most
// bytes. Of others, opening a pipe and reading a device may never end.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most, path)
}

// ReadAll reads to the end, or returns an error, which says what it was, if that is
// more than most bytes.
func ReadAll(r io.Reader, most int64, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: more than %d bytes is not allowed", what, most)
	}
	return data, nil
}

// File is the path of the regular file that is kept, or is to be:
// path itself, or what a link of that name points to. A link is followed once,
// so that it stays one and the file behind it is replaced. Anything else that
// has the name is not ours to replace: a device, a pipe, a directory.
func File(path string) (string, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// ".." in it is that of the directory itself, whatever links lead there.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
		info, _ = os.Lstat(path)
	}
	if info != nil && !info.Mode().IsRegular() {
		return "", notRegular(path, info.Mode())
	}
	return path, nil
}

// Write puts the data into the file, for its owner alone to read.
func Write(path string, data []byte) (err error) {
	path, err = File(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	// Made with 0600.
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	// That the new name outlives a power cut. Not every system has that, and
	// without it the old file comes back, which is no harm.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

func notRegular(path string, m fs.FileMode) error {
	return setting.Wrong(path, m.Type(), "a regular file")
}
