package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// record is what the store keeps.
type record struct {
	// Source is the name of the source, Mark what the source knows the document by.
	Source string `json:"source"`
	Mark   string `json:"mark,omitempty"`
	// Fetched is when the document came.
	Fetched  time.Time `json:"fetched"`
	Document Document  `json:"document"`
}

// maxRecord is the most bytes of a stored record: a document, in which JSON may
// write a byte as six, and a little.
const maxRecord = 6*MaxSize + 16<<10

// readStore returns the record that the file holds, nil if there is no file.
// What it holds is checked like what comes from the source: the disk, and who
// writes to it, are no better.
func readStore(path, source string) (*record, error) {
	file, err := storeFile(path)
	if err != nil {
		return nil, err
	}
	data, err := readFile(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.Document.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err) // it may have none
	}
	if r.Source != source {
		return nil, fmt.Errorf("%s: a document of %q is not allowed, want one of %q", path, short(r.Source), source)
	}
	return &r, nil
}

// storeFile is the path of the regular file that the store is, or is to be:
// path itself, or what a link of that name points to. A link is followed once,
// so that it stays one and the file behind it is replaced. Anything else that
// has the name is not ours to replace: a device, a pipe, a directory.
func storeFile(path string) (string, error) {
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

// writeStore puts the record into the file, for its owner alone to read. Whatever
// happens meanwhile, the file is either the old one or the new one, whole.
func writeStore(path string, r record) (err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path, err = storeFile(path)
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
	// without it the old document comes back, which is no harm.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
