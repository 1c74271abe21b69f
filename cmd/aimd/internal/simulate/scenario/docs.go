package scenario

import (
	_ "embed"
	"strings"
)

//go:embed fields.txt
var fields string

// docs say what the fields mean, by path; a list's items have "[]". A test holds
// that every field has its text in fields.txt and every text its field. What a field is
// when it is left out is told by package sim, unless the text says that it depends.
var docs = parseDocs(fields)

// parseDocs reads paths, each with its text indented below it.
func parseDocs(text string) map[string]string {
	all := map[string]string{}
	path := ""
	for line := range strings.Lines(text) {
		doc := strings.TrimSpace(line)
		switch {
		case doc == "":
		case !strings.HasPrefix(line, " "):
			path = doc
		default:
			all[path] = strings.TrimSpace(all[path] + " " + doc)
		}
	}
	return all
}
