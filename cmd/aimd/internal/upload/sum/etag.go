package sum

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strings"
	"sync"
)

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

// MD5 is the MD5 of all that r has, in hex as in an ETag.
func MD5(r io.Reader) (string, error) {
	s, err := Of(md5.New(), r)
	return hex.EncodeToString(s), err
}

// PartsETag is the ETag of an object that was uploaded in parts with these MD5s in hex.
func PartsETag(md5s []string) (string, error) {
	h := md5.New()
	for _, x := range md5s {
		b, err := hex.DecodeString(x)
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	return fmt.Sprintf("%x-%d", h.Sum(nil), len(md5s)), nil
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
