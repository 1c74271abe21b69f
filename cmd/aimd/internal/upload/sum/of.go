package sum

import (
	"hash"
	"io"
	"sync"
)

// buffers are for reading: small files come by the hundred thousand.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// Of is the hash of all that r has.
func Of(h hash.Hash, r io.Reader) ([]byte, error) {
	b := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(b)
	if _, err := io.CopyBuffer(h, onlyReader{r}, b[:]); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// onlyReader hides a WriteTo, which would not use the buffer.
type onlyReader struct{ io.Reader }
