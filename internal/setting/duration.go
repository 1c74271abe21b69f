// Package setting checks settings in the words that all errors of this project
// use: the setting, the value, and what is allowed.
package setting

import (
	"fmt"
	"time"
)

// Duration puts the fallback in the place of a zero, and returns an error that
// names the setting unless lo <= *d <= hi.
func Duration(name string, d *time.Duration, fallback, lo, hi time.Duration) error {
	if *d == 0 {
		*d = fallback
	}
	if *d < lo || *d > hi {
		return fmt.Errorf("%s: %v is not allowed, want a duration from %v to %v", name, *d, lo, hi)
	}
	return nil
}
