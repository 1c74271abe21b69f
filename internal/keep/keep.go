// Package keep keeps small files over restarts: whatever happens, a file is either the old
// one or the new one, whole, and a path that is no regular file is left alone.
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

// Read returns the contents of the regular file, or an error if they are more than most bytes.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // to open a pipe, or to read a device, may never end
		return nil, notRegular(path, info)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most, path)
}

// ReadAll reads to the end. If that is more than most bytes it returns an error, which names what was read.
func ReadAll(r io.Reader, most int64, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: more than %d bytes is not allowed", what, most)
	}
	return data, err
}

// File is the path of the regular file that is kept: path itself or, if that is a link, the file behind it,
// so that the link stays. A link to a link, a device, a pipe and a directory are errors.
func File(path string) (string, error) {
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			// A ".." in the link belongs to its directory itself, whatever links lead there.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return "", notRegular(path, info)
	}
	return path, nil
}

// Write puts the data into the file, for its owner alone to read.
func Write(path string, data []byte) error {
	path, err := File(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // with 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

func notRegular(path string, info fs.FileInfo) error {
	return setting.Wrong(path, info.Mode().Type(), "a regular file")
}
