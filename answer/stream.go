package answer

import (
	"bytes"
	"strings"
)

// event reads the first event of a stream (HTML, section 9.2).
func (r *reader) event(body string) {
	var name string
	var data strings.Builder
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" && (name != "" || data.Len() > 0) {
			break
		}
		switch field, value, _ := strings.Cut(line, ":"); field {
		case "event":
			name = strings.TrimPrefix(value, " ")
		case "data":
			data.WriteString(strings.TrimPrefix(value, " "))
		}
	}
	document, failed := data.String(), name == "error"
	if strings.HasPrefix(strings.TrimSpace(document), "{") {
		r.success(document, true, failed)
	} else if failed {
		r.Begun = true
		r.code(document)
		r.says(document)
	}
}

// parts reads the answers within an answer of several parts (Google, OData).
func (r *reader) parts(body string) {
	for line := range strings.SplitSeq(body, "\n") {
		if status, is := strings.CutPrefix(line, "HTTP/1.1 "); is {
			r.items++
			if len(status) >= 3 && refuses(status[:3]) {
				r.refused++
			}
		}
	}
}

// speaking are texts: a document without one is a plain success.
var speaking = bytes.Fields([]byte(`rror rrcode NOTOK nprocessed Failed failed" responses" Note" Information" throttleStatus rateLimit`))

// Speaks reports whether the body of a success, in JSON, XML or events, may say more than that it is one: of an error, of
// items that were refused, or of a quota. If not, [Read] has nothing to add to the header. It costs a search.
func Speaks(body []byte) bool {
	for _, text := range speaking {
		if bytes.Contains(body, text) {
			return true
		}
	}
	return false
}
