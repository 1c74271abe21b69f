package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/aimd-go/aimd/internal/keep"
	"github.com/aimd-go/aimd/internal/setting"
)

// Source is where documents come from: NewHTTP, NewFile, or one of your own.
type Source interface {
	// Fetch returns the present document, and a mark by which the source knows the document again (an ETag),
	// or "". have is the mark of the document in force, "" at first: if the mark is the same, the data may be
	// nil. One goroutine at a time calls it. It must end when ctx ends, and should read at most 256 KiB.
	Fetch(ctx context.Context, have string) (data []byte, mark string, err error)
	// String names the source in errors, in Snapshot and in the store. It holds no secrets.
	String() string
}

// fileSource is the Source of NewFile: a path.
type fileSource string

// NewFile returns the source that reads a local file of 256 KiB at most, which need not exist yet. Replace the
// file by renaming another one over it: a half-written file is refused until the next look.
func NewFile(path string) (Source, error) {
	if path == "" {
		return nil, fmt.Errorf("remote: %w", setting.Wrong("file", `""`, "a path"))
	}
	return fileSource(path), nil
}

// String is the path.
func (f fileSource) String() string { return string(f) }

// Fetch reads the file. It has no mark: a document is compared as a whole.
func (f fileSource) Fetch(ctx context.Context, _ string) (data []byte, mark string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if data, err = keep.Read(string(f), maxSize); err != nil {
		err = fmt.Errorf("remote: %w", err)
	}
	return data, "", err
}

// record is the contents of the store: a document, the name of its source, and the source's mark of it.
type record struct {
	Source   string   `json:"source"`
	Mark     string   `json:"mark,omitempty"`
	Document Document `json:"document"`
}

// maxRecord bounds a stored record: a document, in which JSON may write a byte as six, and a little.
const maxRecord = 6*maxSize + 16<<10

// read returns the record that the file holds, a zero one if there is no file. The record is checked as a
// document of the source is.
func read(path, source string) (r record, err error) {
	file, err := keep.File(path)
	if err != nil {
		return record{}, err
	}
	data, err := keep.Read(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil {
		err = r.Document.validate() // the document may be absent
	}
	if err == nil && r.Source != source {
		err = fmt.Errorf("a document of %q is not allowed, want one of %q", cut(r.Source, 60), source)
	}
	if err != nil {
		return record{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// write puts the record into the file.
func write(path string, r record) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = keep.Write(path, data)
	}
	return err
}
