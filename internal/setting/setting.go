// Package setting checks settings. All errors about a setting are of one type
// and in the same words: the setting, the value, and what is allowed.
//
// One rule holds for all settings of this module. The zero value (0, nil) is the
// default. Where the default is a limit, a negative number means none; where
// the default is none, a negative number is an error.
//
// The modules below this one use the package too, and may be older than it: add
// to it, and change nothing that is here.
package setting

import "fmt"

// Error says which setting is wrong. errors.As finds it in what a package
// returns.
type Error struct {
	// Name is the setting's: "longest pause"; of a document the path of its
	// field: "window.max". It is the same from version to version, so programs
	// may tell settings apart by it.
	Name string
	// Value is the value as text, cut short if it is long.
	Value string
	// Want is what is allowed; "": nothing to choose from, any other value.
	Want string
}

// Error returns "name: value is not allowed, want ...".
func (e *Error) Error() string { return e.Name + ": " + e.Problem() }

// Problem is Error without the name, for those that know the setting by another.
func (e *Error) Problem() string {
	if e.Want == "" {
		return e.Value + " is not allowed"
	}
	return e.Value + " is not allowed, want " + e.Want
}

// Wrong returns an Error about the setting with that value. The rest says what
// is allowed, in the manner of fmt.Sprintf.
func Wrong(name string, value any, want string, args ...any) error {
	return &Error{Name: name, Value: fmt.Sprint(value), Want: fmt.Sprintf(want, args...)}
}

// Nil returns an Error about a setting that must be there and is nil.
func Nil(name string) error { return &Error{Name: name, Value: "nil"} }
