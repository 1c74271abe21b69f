package verdict

import (
	"reflect"
	"sync"
)

// fieldNames are the fields that are read of the error of an SDK.
var fieldNames = []string{
	"StatusCode", "HTTPStatusCode", "Status", "Code", "Type", "Reason", "ErrorCode", "Message", "Errors", "Details",
	"Header", "LastResponse", "Body", "ResponseBody", "RetryAfter", "Rate", "Reset", "Time", "Event", "Data",
	"SQLState", "Number", "Name", "Retriable", "Retryable",
}

// wordless are the methods that tell nothing of an error; ordinary are all those that errors of the standard library have.
var (
	wordless = []reflect.Type{
		reflect.TypeFor[error](), reflect.TypeFor[interface{ Unwrap() error }](), reflect.TypeFor[interface{ Unwrap() []error }](),
	}
	ordinary = append(wordless[:len(wordless):len(wordless)],
		reflect.TypeFor[interface{ Is(error) bool }](), reflect.TypeFor[interface{ As(any) bool }](),
		reflect.TypeFor[interface{ Timeout() bool }](), reflect.TypeFor[interface{ Temporary() bool }]())
)

// hasOnly reports whether the type has only methods of these interfaces, each of which has one. They are counted, since
// with reflect.Type.Method the linker keeps every exported method of the program.
func hasOnly(t reflect.Type, methods []reflect.Type) bool {
	n := 0
	for _, m := range methods {
		if t.Implements(m) {
			n++
		}
	}
	return t.NumMethod() == n
}

// kind is what there is to read of the errors of a type.
type kind struct {
	// shaped: there may be something to read beside the methods of the standard library.
	shaped bool
	// fields are the places of the exported fields with the names that are read, for reflect.Value.FieldByIndexErr.
	fields map[string][]int
	// responses are the places of the exported fields that may hold an *http.Response.
	responses []int
	// name has the path of the package: "net/http.Response", also of a pointer. By names we read the errors of crypto/tls
	// and net/http, so that a program without HTTP does not link them.
	name string

	// silent: there is neither an exported field nor a method but Error and Unwrap.
	silent bool
	// pointer: the type is a pointer. as and is: it has the method of errors.As and of errors.Is.
	pointer, as, is bool
}

var kinds sync.Map // of *kind, by reflect.Type

// kindOf returns the kind of the errors of the type. A type is looked at once.
func kindOf(t reflect.Type) *kind {
	if k, known := kinds.Load(t); known {
		return k.(*kind)
	}
	k, _ := kinds.LoadOrStore(t, newKind(t))
	return k.(*kind)
}

func newKind(t reflect.Type) *kind {
	k := &kind{
		pointer: t.Kind() == reflect.Pointer,
		as:      t.Implements(reflect.TypeFor[interface{ As(any) bool }]()),
		is:      t.Implements(reflect.TypeFor[interface{ Is(error) bool }]()),
		silent:  hasOnly(t, wordless),
		shaped:  !hasOnly(t, ordinary),
	}
	if k.pointer {
		t = t.Elem()
	}
	k.name = t.PkgPath() + "." + t.Name()
	if t.Kind() != reflect.Struct {
		return k
	}
	for i := range t.NumField() {
		f := t.Field(i)
		k.silent = k.silent && !f.IsExported()
		if f.IsExported() && (f.Type == reflect.TypeFor[any]() || isResponse(f.Type)) {
			k.responses = append(k.responses, i)
		}
	}
	k.fields = map[string][]int{}
	for _, name := range fieldNames {
		if f, ok := t.FieldByName(name); ok && f.IsExported() {
			k.fields[name] = f.Index
		}
	}
	k.shaped = k.shaped || len(k.fields) > 0 || len(k.responses) > 0
	return k
}

func isResponse(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "net/http" && t.Elem().Name() == "Response"
}

func isHeader(t reflect.Type) bool { return t.PkgPath() == "net/http" && t.Name() == "Header" }
