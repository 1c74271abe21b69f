package proxy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/aimd-go/aimd/httplimit"
)

// limiterOf names the limiter of a request.
func (p *proxy) limiterOf(r *http.Request) string {
	if p.classes == "" {
		return p.key(r)
	}
	return p.key(r) + " " + httplimit.ReadWrite(r)
}

// key names who sends a request: a part of the hash of the credential, which tells keys apart and says nothing of
// the credential. None is kept.
func (p *proxy) key(r *http.Request) string {
	if p.one {
		return all
	}
	for _, name := range []string{cmp.Or(p.header, "Authorization"), "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if v := r.Header.Values(name); len(v) > 0 {
			return keyed(name, strings.Join(v, "\x00"))
		}
		if p.header != "" {
			return all
		}
	}
	// A URL that was signed by AWS's rules has what is else in the header.
	if _, id, ok := strings.Cut(r.URL.RawQuery, "X-Amz-Credential="); ok {
		return keyed("Authorization", "AWS4-HMAC-SHA256 Credential="+id[:strings.IndexAny(id+"&", "%/&")]+"/")
	}
	return all
}

const all = "all"

func keyed(header, value string) string {
	sum := sha256.Sum256([]byte(header + "\x00" + credential(value)))
	return "key " + hex.EncodeToString(sum[:8])
}

// credential is the part of a header's value that is the same in each request. That is all of a Bearer, a Basic or a
// bare key. Other schemes sign each request, and begin with who signs: "AWS4-HMAC-SHA256 Credential=ID/date/...",
// "SharedKey ID:signature", "Digest username=ID, ...".
func credential(value string) string {
	switch scheme, rest, _ := strings.Cut(value, " "); strings.ToLower(scheme) {
	case "bearer", "basic", "token", strings.ToLower(value):
	default:
		if i := strings.IndexAny(rest, ",/:"); i >= 0 {
			return scheme + rest[:i]
		}
	}
	return value
}
