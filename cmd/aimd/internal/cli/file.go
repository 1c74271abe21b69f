package cli

import (
	"errors"
	"fmt"
	"os"
)

// MakeDir makes a directory if it does not exist. It ignores "".
func MakeDir(flag, dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--%s %s: want a directory that can be made or written to: %w", flag, dir, Reason(err))
	}
	return nil
}

// Reason is the first cause of an error, without the words around it. The cause of a file
// error does not name the path, which the message names already. An attempt.Error has its
// cause as the last of several.
func Reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[len(several.Unwrap())-1]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}
