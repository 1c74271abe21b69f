// Package sum computes the checksums that S3 knows.
package sum

import (
	"crypto/md5"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Algorithm is a cyclic redundancy check. The checksums of the parts of an
// object give that of the whole, so a large object is read once.
type Algorithm struct {
	// Name is S3's, as in the header x-amz-checksum-crc64nvme, but upper case.
	Name string
	// New returns a hash whose Sum is in the byte order of S3.
	New func() hash.Hash
	// poly is the polynomial, reflected; the highest of its width bits is that of x^0.
	poly  uint64
	width int
}

// The algorithms with full-object checksums of multipart uploads:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
var (
	CRC64NVME = &Algorithm{"CRC64NVME", func() hash.Hash { return crc64.New(nvme) }, nvmePoly, 64}
	CRC32C    = &Algorithm{"CRC32C", func() hash.Hash { return crc32.New(castagnoli) }, crc32.Castagnoli, 32}
	CRC32     = &Algorithm{"CRC32", func() hash.Hash { return crc32.NewIEEE() }, crc32.IEEE, 32}
)

// nvmePoly is 0xAD93D23594C93659 of the NVM Express specification, reflected.
const nvmePoly = 0x9a6c9329ac4bc9b5

var (
	nvme       = crc64.MakeTable(nvmePoly)
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Algorithms are all of them, the one to prefer first.
func Algorithms() []*Algorithm { return []*Algorithm{CRC64NVME, CRC32C, CRC32} }

// Combine is the checksum of two stretches of bytes, one after the other, from
// those of each. The second is n bytes long.
//
// A checksum is a remainder, and to append n bytes is to multiply by x^8n, so
// crc(ab) = crc(a) * x^8n + crc(b); the values at begin and end cancel out.
func (a *Algorithm) Combine(first, second []byte, n int64) []byte {
	crc := a.times(a.power(n), a.number(first)) ^ a.number(second)
	out := make([]byte, a.width/8)
	for i := range out {
		out[i] = byte(crc >> (a.width - 8 - 8*i))
	}
	return out
}

func (a *Algorithm) number(sum []byte) (n uint64) {
	for _, b := range sum {
		n = n<<8 | uint64(b)
	}
	return n
}

// one is x^0.
func (a *Algorithm) one() uint64 { return 1 << (a.width - 1) }

// power is x^8n modulo the polynomial.
func (a *Algorithm) power(n int64) uint64 {
	out, square := a.one(), a.one()>>8
	for i := range bits.Len64(uint64(n)) {
		if n>>i&1 == 1 {
			out = a.times(out, square)
		}
		square = a.times(square, square)
	}
	return out
}

// times is p * q modulo the polynomial, over GF(2).
func (a *Algorithm) times(p, q uint64) (out uint64) {
	for m := a.one(); m != 0; m >>= 1 {
		if p&m != 0 {
			out ^= q
		}
		// q times x
		carry := q & 1
		q >>= 1
		if carry == 1 {
			q ^= a.poly
		}
	}
	return out
}

// etagForm is that of an ETag that may tell of the content: the MD5, or, with
// the number of parts, the MD5 of the MD5s of the parts. Neither is promised.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
var etagForm = regexp.MustCompile(`^([0-9a-f]{32})(-[0-9]+)?$`)

// ETag takes an ETag as the store has it apart: the quotes go, and whether it may
// be an MD5, of the whole or of parts, is told.
func ETag(quoted string) (etag string, whole, parts bool) {
	etag = strings.Trim(quoted, `"`)
	m := etagForm.FindStringSubmatch(etag)
	return etag, m != nil && m[2] == "", m != nil && m[2] != ""
}

// PartsETag is the ETag of an object that was uploaded in parts with these MD5s.
func PartsETag(md5s [][]byte) string {
	return fmt.Sprintf("%x-%d", md5.Sum(slices.Concat(md5s...)), len(md5s))
}

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
