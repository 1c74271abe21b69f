package body

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"
)

// Most is the part of a body that is read, in bytes, packed and unpacked. Our choice: error documents are shorter.
const Most = 64 << 10

// Plain returns the start of a body without its compression, at most Most bytes: gzip, and deflate by the header
// Content-Encoding. It returns nil for another compression.
func Plain(header map[string][]string, body []byte) []byte {
	body = body[:min(len(body), Most)]
	encoding := ""
	if e := header["Content-Encoding"]; len(e) > 0 {
		encoding = strings.ToLower(strings.TrimSpace(e[0]))
	}
	var in io.Reader
	switch {
	case len(body) > 2 && body[0] == 0x1f && body[1] == 0x8b:
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil
		}
		in = z
	case encoding == "deflate": // RFC 9110, section 8.4.1.2: a zlib stream; some servers send the bare stream
		in = flate.NewReader(bytes.NewReader(body))
		if z, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			in = z
		}
	case encoding == "", encoding == "identity", encoding == "gzip", encoding == "x-gzip", strings.HasPrefix(encoding, "aws-chunked"):
		return body
	default:
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(in, Most)) // the start of a cut stream counts
	return plain
}
