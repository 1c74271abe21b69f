package upload

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/minio/crc64nvme"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// file is an open file. Its content is read as it was when the file was opened, or a read
// fails. It is safe for several goroutines.
type file struct {
	*os.File
	info fs.FileInfo
	// broken is called with the error of a read: the SDK takes such an error for a failure
	// of the network, and tries again.
	broken context.CancelCauseFunc
}

func open(path string, broken context.CancelCauseFunc) (*file, error) {
	// A pipe that took the file's place must not hold us up.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cli.Reason(err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return &file{f, info, broken}, nil
	}
	_ = f.Close()
	return nil, cmp.Or(err, errors.New("no longer a regular file"))
}

var errChanged = errors.New("the file changed while it was read")

// ReadAt implements io.ReaderAt, within the size that the file had.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = errChanged
	}
	f.broken(err)
	return n, err
}

func (f *file) section(off, n int64) section { return section{io.NewSectionReader(f, off, n)} }

// section is a part of a file.
type section struct{ *io.SectionReader }

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// WriteTo implements io.WriterTo: io.Copy would make a buffer for each checksum, the SDK's too, and of small files these
// were half of all garbage.
func (s section) WriteTo(w io.Writer) (int64, error) {
	b := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(b)
	return io.CopyBuffer(w, struct{ io.Reader }{s.SectionReader}, b[:])
}

// sum is the hash of n bytes of the file from off.
func (f *file) sum(h hash.Hash, off, n int64) ([]byte, error) {
	_, err := io.Copy(h, f.section(off, n))
	return h.Sum(nil), err
}

// crc64 is the CRC64NVME of n bytes of the file from off, as requests and answers have it.
func (f *file) crc64(off, n int64) (*string, error) {
	sum, err := f.sum(crc64nvme.New(), off, n)
	text := base64.StdEncoding.EncodeToString(sum)
	return &text, err
}

// unchanged returns an error if the file is not the one that was opened. A change that keeps
// the size and, within its resolution, the time is not noticed.
func (f *file) unchanged() error {
	now, err := os.Stat(f.Name())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errChanged, cli.Reason(err))
	case !os.SameFile(now, f.info) || now.Size() != f.info.Size() || !now.ModTime().Equal(f.info.ModTime()):
		return errChanged
	}
	return nil
}
