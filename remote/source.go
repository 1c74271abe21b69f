package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/internal/keep"
	"github.com/aimd-go/aimd/internal/setting"
)

// ErrUnchanged is what a Source answers when the document is the one that was
// fetched before.
var ErrUnchanged = errors.New("remote: unchanged")

// Source is where documents come from: NewHTTP, NewFile, or one of your own.
type Source interface {
	// Fetch returns the document as it is now, and a mark by which it is known
	// again (an ETag), "" if there is none. have is the mark of the document in
	// force, "" at first: if that is still the one, the error is ErrUnchanged.
	// It is called by one goroutine at a time, must heed the end of ctx, and
	// should read no more than 256 KiB.
	Fetch(ctx context.Context, have string) (data []byte, mark string, err error)
	// String names the source in errors, in Snapshot and in the store. It holds
	// no secrets.
	String() string
}

// fileSource is the Source of NewFile.
type fileSource struct{ path string }

// NewFile returns the source that reads a local file, which need not exist yet. Its
// mark is a hash of the contents. Each look reads the whole file, of 256 KiB at most:
// size and time may stay the same when the contents change, and the system's notices
// of changes differ by system, do not work on network drives, and get lost where the
// file is replaced rather than written, as Kubernetes does.
//
// Replace the file by renaming another one over it. One that is read half written is
// refused, and read again at the next look.
func NewFile(path string) (Source, error) {
	if path == "" {
		return nil, fmt.Errorf("remote: %w", setting.Wrong("file", `""`, "a path"))
	}
	return &fileSource{path}, nil
}

// String is the path.
func (f *fileSource) String() string { return f.path }

// Fetch reads the file. The mark is a hash of its contents.
func (f *fileSource) Fetch(ctx context.Context, have string) (data []byte, mark string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	data, err = keep.Read(f.path, maxSize)
	if err != nil {
		return nil, "", fmt.Errorf("remote: %w", err)
	}
	sum := sha256.Sum256(data)
	if mark = hex.EncodeToString(sum[:]); mark == have {
		return nil, mark, ErrUnchanged
	}
	return data, mark, nil
}
