package fact

import (
	"net/http"
	"reflect"
	"slices"
	"sync"
)

// names are the fields that package attempt reads of the error of an SDK.
var names = []string{
	"StatusCode", "HTTPStatusCode", "Status", "Code", "Type", "Reason", "ErrorCode", "Message", "Errors", "Details",
	"Header", "LastResponse", "Body", "ResponseBody", "RetryAfter", "Rate", "Reset", "Time", "Event", "Data",
	"SQLState", "Number", "Retriable", "Retryable",
}

// plain are the methods that the errors of the standard library have.
var plain = []string{"Error", "Unwrap", "Is", "As", "Timeout", "Temporary"}

// Kind is what there is to read of the errors of a type.
type Kind struct {
	// Shaped: there may be something to read beside the methods of the standard library.
	Shaped bool
	// Fields are the places of the exported fields with the names that are read, for reflect.Value.FieldByIndexErr.
	Fields map[string][]int
	// Responses are the places of the exported fields that may hold an *http.Response.
	Responses []int

	// silent: there is neither an exported field nor a method but Error and Unwrap.
	silent bool
	// pointer: the type is a pointer. as and is: it has the method of errors.As and of errors.Is.
	pointer, as, is bool
}

var kinds sync.Map // of *Kind, by reflect.Type

// KindOf returns the kind of the errors of the type. A type is looked at once.
func KindOf(t reflect.Type) *Kind {
	if k, known := kinds.Load(t); known {
		return k.(*Kind)
	}
	k, _ := kinds.LoadOrStore(t, newKind(t))
	return k.(*Kind)
}

func newKind(t reflect.Type) *Kind {
	k := &Kind{
		pointer: t.Kind() == reflect.Pointer,
		as:      t.Implements(reflect.TypeFor[interface{ As(any) bool }]()),
		is:      t.Implements(reflect.TypeFor[interface{ Is(error) bool }]()),
		silent:  true,
	}
	for i := range t.NumMethod() {
		name := t.Method(i).Name
		k.silent = k.silent && (name == "Error" || name == "Unwrap")
		k.Shaped = k.Shaped || !slices.Contains(plain, name)
	}
	if k.pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return k
	}
	for i := range t.NumField() {
		f := t.Field(i)
		k.silent = k.silent && !f.IsExported()
		if f.IsExported() && reflect.TypeFor[*http.Response]().AssignableTo(f.Type) {
			k.Responses = append(k.Responses, i)
		}
	}
	k.Fields = map[string][]int{}
	for _, name := range names {
		if f, ok := t.FieldByName(name); ok && f.IsExported() {
			k.Fields[name] = f.Index
		}
	}
	k.Shaped = k.Shaped || len(k.Fields) > 0 || len(k.Responses) > 0
	return k
}
