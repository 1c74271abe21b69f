// Package setting checks settings. All errors about a setting are of one type and in the same words: the
// setting, the value, and the allowed values.
//
// One rule holds for all settings of this module. The zero value (0, nil) is the default. If the default is a
// limit, a negative number means no limit; if the default is no limit, a negative number is an error.
//
// The modules below this one use the package too, and may be older than it: add to it, and leave the
// existing functions as they are.
package setting

import "fmt"

// Error says which setting is wrong. errors.As finds it in the error of a constructor.
type Error struct {
	// Name is the name of the field: "MaxWindow"; in a document its path: "window.max". It is the same
	// from version to version, so programs may depend on it.
	Name string
	// Value is the value as text, cut short if it is long.
	Value string
	// Want says which values are allowed; "": any other value.
	Want string
}

// Error returns "name: value is not allowed, want ...".
func (e *Error) Error() string { return e.Name + ": " + e.Problem() }

// Problem is Error without the name, for a caller that has another name for the setting.
func (e *Error) Problem() string {
	if e.Want == "" {
		return e.Value + " is not allowed"
	}
	return e.Value + " is not allowed, want " + e.Want
}

// Wrong returns an Error about the setting with that value. want says which values are allowed, in the
// manner of fmt.Sprintf.
func Wrong(name string, value any, want string, args ...any) error {
	return &Error{Name: name, Value: fmt.Sprint(value), Want: fmt.Sprintf(want, args...)}
}

// Nil returns an Error about a required setting that is nil.
func Nil(name string) error { return &Error{Name: name, Value: "nil"} }
