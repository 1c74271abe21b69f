package scenario

import (
	_ "embed"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

// Field is what there is to know of a field.
type Field struct {
	// Path is like "server.slots"; a list's items have "[]".
	Path string
	// Kind says what it takes: "whole number".
	Kind string
	// Default is what it is if it is left out; "": zero, or as the text says.
	Default string
	// Doc says what it means.
	Doc string
}

// Schema returns all fields of a scenario file, in the order of the decoder's own
// structs.
func Schema() []Field {
	var all []Field
	walk(reflect.ValueOf(Scenario{}), reflect.ValueOf(Scenario{Scenario: sim.Scenario{}.WithDefaults()}), "", func(f Field) { all = append(all, f) })
	return all
}

// walk calls f with each field below the path. preset has the defaults.
func walk(zero, preset reflect.Value, path string, f func(Field)) {
	tagged(zero.Type(), func(name string, x reflect.StructField) {
		at := join(path, name)
		v, p := zero.FieldByIndex(x.Index), preset.FieldByIndex(x.Index)
		t := v.Type()
		field := Field{Path: at, Kind: kindOf(t), Doc: docs[at]}
		if !strings.Contains(field.Doc, "if left out") {
			field.Default = showDefault(v, p)
		}
		f(field)
		switch {
		case t == durationType, isText(t):
		case t.Kind() == reflect.Struct:
			walk(v, p, at, f)
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
			item := reflect.Zero(t.Elem())
			walk(item, item, at+"[]", f)
		}
	})
}

// showDefault is the default of a plain field, if it is not zero.
func showDefault(zero, preset reflect.Value) string {
	switch k := zero.Kind(); {
	case k == reflect.Struct, k == reflect.Slice, k == reflect.Pointer, preset.Equal(zero):
		return ""
	case zero.Type() == durationType:
		return value.ShowDuration(time.Duration(preset.Int()))
	}
	return fmt.Sprint(preset)
}

var brackets = regexp.MustCompile(`\[[0-9]*\]`)

// Explain returns the fields at the path and below it; "strategies.retry",
// "strategies[].retry" and "strategies[0].retry" are the same.
func Explain(path string) ([]Field, error) {
	plain := brackets.ReplaceAllString(path, "")
	var found []Field
	for _, f := range Schema() {
		if p := strings.ReplaceAll(f.Path, "[]", ""); p == plain || strings.HasPrefix(p, plain+".") {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	for _, f := range Schema() { // the last word alone will do
		if words := strings.Split(f.Path, "."); slices.Contains(words[len(words)-1:], plain) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no field %q; aimd sim schema shows all", path)
	}
	return found, nil
}

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

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// tagged calls f with the fields of a struct that a file may set, in their
// order, those of embedded structs among them.
func tagged(t reflect.Type, f func(name string, field reflect.StructField)) {
	for _, field := range reflect.VisibleFields(t) {
		if name := field.Tag.Get("yaml"); name != "" && name != "-" && !field.Anonymous {
			f(name, field)
		}
	}
}

func fieldNames(t reflect.Type) (names []string) {
	tagged(t, func(name string, _ reflect.StructField) { names = append(names, name) })
	return names
}

func fieldNamed(in reflect.Value, wanted string) (found reflect.Value, ok bool) {
	tagged(in.Type(), func(name string, field reflect.StructField) {
		if name == wanted {
			found, ok = in.FieldByIndex(field.Index), true
		}
	})
	return found, ok
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// kindOf says in a word or two what a field of the type takes.
func kindOf(t reflect.Type) string {
	switch k := t.Kind(); {
	case t == durationType:
		return "duration like 100ms"
	case isText(t), k == reflect.String:
		return "text"
	case k == reflect.Pointer:
		return kindOf(t.Elem())
	case k == reflect.Struct:
		return "mapping"
	case k == reflect.Slice:
		return "list"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float64:
		return "number"
	}
	return "whole number"
}

// a is the kind with an article, where one belongs.
func a(kind string) string {
	if kind == "text" || strings.HasPrefix(kind, "true") {
		return kind
	}
	return "a " + kind
}
