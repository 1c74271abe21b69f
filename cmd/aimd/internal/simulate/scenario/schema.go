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

	"github.com/aimd-go/aimd/sim"
)

// Field is a field of a scenario file.
type Field struct {
	// Path is like "server.slots"; a list's items have "[]".
	Path string
	// Kind says what the field takes: "a whole number".
	Kind string
	// Doc says what the field means, and its default.
	Doc string
}

// fields has the paths, each with its text indented below. A test holds that every field of
// the structs has its text, and every text its field.
//
//go:embed fields.txt
var fields string

// Schema returns all fields of a scenario file.
func Schema() (all []Field) {
	for line := range strings.Lines(fields) {
		doc := strings.TrimSpace(line)
		switch last := len(all) - 1; {
		case doc == "":
		case !strings.HasPrefix(line, " "):
			all = append(all, Field{Path: doc, Kind: kindOf(typeOf(doc))})
		default:
			all[last].Doc = strings.TrimSpace(all[last].Doc + " " + doc)
		}
	}
	return all
}

// typeOf is the type of the field at a path of Schema.
func typeOf(path string) reflect.Type {
	t := reflect.TypeFor[Scenario]()
	for _, name := range strings.Split(path, ".") {
		f, _ := fieldNamed(reflect.Zero(t), strings.TrimSuffix(name, "[]"))
		if t = f.Type(); strings.HasSuffix(name, "[]") {
			t = t.Elem()
		}
	}
	return t
}

var brackets = regexp.MustCompile(`\[[0-9]*\]`)

// Explain returns the fields whose path has these words in a row, with those below them;
// "strategies.retry", "strategies[].retry" and "strategies[0].retry" are the same.
func Explain(path string) (found []Field, _ error) {
	words := func(path string) string { return "." + brackets.ReplaceAllString(path, "") + "." }
	for _, f := range Schema() {
		if strings.Contains(words(f.Path), words(path)) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no field %q; aimd sim schema shows all", path)
	}
	return found, nil
}

// StrategyNames are the names of the ready strategies.
func StrategyNames() (names []string) {
	for _, s := range sim.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fieldNames are the yaml tags of a struct's fields, with the tags of embedded structs.
func fieldNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func fieldNamed(in reflect.Value, name string) (reflect.Value, bool) {
	all := reflect.VisibleFields(in.Type())
	i := slices.IndexFunc(all, func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name })
	if i < 0 || name == "" || name == "-" {
		return in, false
	}
	return in.FieldByIndex(all[i].Index), true
}

// kindOf says what a field of the type takes.
func kindOf(t reflect.Type) string {
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration like 100ms"
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
		return "a number"
	}
	return "a whole number"
}
