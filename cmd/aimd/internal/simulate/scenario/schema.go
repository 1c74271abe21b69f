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

// fields has for each field of a scenario file a line with its path and kind, and indented below it its
// meaning and default.
//
//go:embed fields.txt
var fields string

var (
	entry    = regexp.MustCompile(`(?m)^(\S+) .*\n(?: .*\n)+`)
	brackets = regexp.MustCompile(`\[[0-9]*\]`)
)

// Explain returns the fields whose path has these words in a row, with the fields below them, and the text
// about them; "" means all fields. "strategies.retry", "strategies[].retry" and "strategies[0].retry" are
// the same.
func Explain(path string) (paths []string, text string, _ error) {
	words := func(path string) string { return "." + brackets.ReplaceAllString(path, "") + "." }
	for _, e := range entry.FindAllStringSubmatch(fields, -1) {
		if path == "" || strings.Contains(words(e[1]), words(path)) {
			paths, text = append(paths, e[1]), text+e[0]
		}
	}
	if len(paths) == 0 {
		return nil, "", fmt.Errorf("there is no field %q; aimd sim schema shows all", path)
	}
	return paths, text, nil
}

// StrategyNames are the names of the ready strategies.
func StrategyNames() (names []string) {
	for _, s := range sim.Strategies() {
		names = append(names, s.Name)
	}
	return names
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

// The kinds of fields that have others.
const (
	hasFields = "fields"
	hasItems  = "a list"
)

// kindOf says what a field of the type takes.
func kindOf(t reflect.Type) string {
	_, isText := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration like 100ms"
	case isText, k == reflect.String:
		return "text"
	case k == reflect.Pointer:
		return kindOf(t.Elem())
	case k == reflect.Struct:
		return hasFields
	case k == reflect.Slice:
		return hasItems
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
