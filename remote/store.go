package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/aimd-go/aimd/internal/keep"
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
const maxRecord = 6*maxSize + 16<<10

// readStore returns the record that the file holds, nil if there is no file.
// What it holds is checked like what comes from the source: the disk is not trusted
// either.
func readStore(path, source string) (*record, error) {
	file, err := keep.File(path)
	if err != nil {
		return nil, err
	}
	data, err := keep.Read(file, maxRecord)
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

// writeStore puts the record into the file.
func writeStore(path string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return keep.Write(path, data)
}
