// Package setting has the error of a wrong setting. Every constructor and every parser of this module returns
// it, within an error that names the package.
//
//	var wrong *setting.Error
//	if errors.As(err, &wrong) {
//		fmt.Println("please change", wrong.Name)
//	}
//
// One rule holds for all settings. The zero value (0, nil) is the default. If the default is a limit, a negative
// number means no limit. If the default is no limit, a negative number is an error.
package setting

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

// Error returns "name: value is not allowed, want ...", or without Want "name: value is not allowed".
func (e *Error) Error() string {
	if e.Want == "" {
		return e.Name + ": " + e.Value + " is not allowed"
	}
	return e.Name + ": " + e.Value + " is not allowed, want " + e.Want
}
