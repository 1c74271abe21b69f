package scenario

import (
	"encoding"
	"reflect"
	"strings"
	"time"
)

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
