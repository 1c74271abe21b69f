package remote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aimd-go/aimd/internal/setting"
)

// Parse reads a document. It is strict, since a document steers many clients at once:
// the error is a *FieldError about the first field that is unknown, that is there
// twice, or whose value is not allowed. What Parse returns without an error is valid.
func Parse(data []byte) (Document, error) {
	d, err := parse(data)
	if err != nil {
		return Document{}, fmt.Errorf("remote: %w", err)
	}
	return d, nil
}

// UnmarshalJSON is Parse.
func (d *Document) UnmarshalJSON(data []byte) error {
	p, err := Parse(data)
	if err == nil {
		*d = p
	}
	return err
}

// Validate returns the error that Parse would return for the document as JSON,
// nil if there is none.
func (d Document) Validate() error {
	if err := d.validate(); err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	return nil
}

func (d Document) validate() error {
	for _, f := range fields {
		v, ok := f.check(&d)
		if !ok {
			return wrong(f.path, fmt.Sprint(v), f.want)
		}
	}
	switch {
	case d.Format == 0:
		return missing("format")
	case d.Version == 0:
		return missing("version")
	case d.Window.Min > 0 && d.Window.Max > 0 && d.Window.Min > d.Window.Max:
		return wrong("window.min", setting.Plain(d.Window.Min), "a number from 1 to window.max, which is "+setting.Plain(d.Window.Max))
	case len(d.FeaturesOff) > maxFeatures:
		return wrong("features_off", fmt.Sprintf("%d features", len(d.FeaturesOff)), fmt.Sprintf("%d features at most", maxFeatures))
	}
	seen := map[string]bool{}
	for i, name := range d.FeaturesOff {
		if err := checkFeature(i, name, seen); err != nil {
			return err
		}
	}
	return nil
}

func parse(data []byte) (Document, error) {
	top, err := whole(data)
	if err != nil {
		return Document{}, err
	}
	// The format first: another one means something else by the rest.
	i := slices.IndexFunc(top, func(m member) bool { return m.path == "format" })
	if i < 0 {
		return Document{}, missing("format")
	}
	var d Document
	for _, m := range append([]member{top[i]}, top...) {
		if err := d.read(m); err != nil {
			return Document{}, err
		}
	}
	return d, d.validate()
}

// whole returns the members of the document as a whole.
func whole(data []byte) ([]member, error) {
	if len(data) > maxSize {
		return nil, wrong("document", fmt.Sprintf("a size of %d bytes", len(data)), fmt.Sprintf("%d bytes at most", maxSize))
	}
	if !utf8.Valid(data) {
		return nil, wrong("document", "text that is not UTF-8", "JSON in UTF-8")
	}
	// This reads to the end and bounds the depth. Below, a value is parsed only once
	// its name is known.
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, wrong("document", broken(data, err), "one JSON object, and nothing after it")
	}
	return members("", bytes.TrimSpace(raw))
}

// broken tells where the JSON is broken, and how.
func broken(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || len(data) == 0 {
		return "text that is no JSON (" + err.Error() + ")"
	}
	before := data[:min(int(syntax.Offset), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("text that is no JSON (line %d, column %d: %v)", line, max(column, 1), err)
}

// read reads one member of the document, or one section of it.
func (d *Document) read(m member) error {
	switch m.path {
	case "features_off":
		return d.readFeatures(m.raw)
	case "window", "retry", "schedule":
		section, err := members(m.path, m.raw)
		if err != nil {
			return err
		}
		for _, m := range section {
			if err := d.read(m); err != nil {
				return err
			}
		}
		return nil
	}
	i := slices.IndexFunc(fields, func(f field) bool { return f.path == m.path })
	if i < 0 {
		return wrong(m.path, "a field of that name", "only "+siblings(m.section))
	}
	if !fields[i].read(d, m.raw) {
		return wrong(m.path, brief(m.raw), fields[i].want)
	}
	return nil
}

func (d *Document) readFeatures(raw json.RawMessage) error {
	var all []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
		return wrong("features_off", brief(raw), "an array of features")
	}
	for i, r := range all {
		name, ok := text(bytes.TrimSpace(r))
		if !ok {
			return wrong(fmt.Sprintf("features_off[%d]", i), brief(r), wantFeature)
		}
		d.FeaturesOff = append(d.FeaturesOff, name)
	}
	return nil
}

var wantFeature = fmt.Sprintf("printable text of 1 to %d bytes, with no space at its ends", maxFeature)

func checkFeature(i int, name string, seen map[string]bool) error {
	path := fmt.Sprintf("features_off[%d]", i)
	unprintable := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	switch {
	case len(name) < 1 || len(name) > maxFeature || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unprintable):
		return wrong(path, short(strconv.Quote(name)), wantFeature)
	case seen[name]:
		return wrong(path, fmt.Sprintf("%q a second time", name), "each feature once")
	}
	seen[name] = true
	return nil
}

func missing(path string) error {
	i := slices.IndexFunc(fields, func(f field) bool { return f.path == path })
	return wrong(path, "nothing", fields[i].want)
}

// member is a value of a JSON object.
type member struct {
	// section is the path of the object, path that of the value.
	section, path string
	raw           json.RawMessage
}

// members returns the members of a JSON object, valid JSON, in order. section
// is its path, "" that of the document.
func members(section string, raw json.RawMessage) ([]member, error) {
	if raw[0] != '{' {
		return nil, wrong(cmp.Or(section, "document"), brief(raw), "an object")
	}
	var all []member
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		m := member{section: section, path: join(section, plain(key))}
		if seen[key] {
			return nil, wrong(m.path, "a second value", "each field at most once")
		}
		seen[key] = true
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		m.raw = bytes.TrimSpace(m.raw)
		all = append(all, m)
	}
	return all, nil
}

// siblings are the fields that a section has.
func siblings(section string) string {
	var names []string
	if section == "" {
		names = []string{"features_off"}
	}
	for _, f := range fields {
		name, below := strings.CutPrefix(f.path, join(section, ""))
		if name, _, _ = strings.Cut(name, "."); below && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func join(section, name string) string {
	if section == "" {
		return name
	}
	return section + "." + name
}

// plain is a name as it may stand in a path: what is no plain name is quoted.
func plain(key string) string {
	odd := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
	if key == "" || len(key) > 40 || strings.ContainsFunc(key, odd) {
		return short(strconv.Quote(key))
	}
	return key
}

// brief is JSON as it may stand in an error: a value, or what kind of thing it is.
func brief(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	if s, ok := text(raw); ok {
		return short(strconv.Quote(s)) // without what a terminal would obey
	}
	return short(string(raw))
}

// short cuts a value that is long.
func short(s string) string { return cut(s, 60) }

// cut cuts what is longer than most bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
