package value

import "strings"

// Text is a text of which a function says whether it is allowed, and want what
// is. kind stands for it in the help.
func Text(to *string, kind, want string, allowed func(string) bool) *Value[string] {
	return &Value[string]{to, kind, want, func(s string) (string, bool) { return s, allowed(s) }, strings.Clone, nil}
}
