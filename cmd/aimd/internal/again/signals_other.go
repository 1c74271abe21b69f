//go:build !unix

package again

import "os"

// passed are the signals that are passed on.
var passed = []os.Signal{os.Interrupt}

// inForeground: elsewhere the console gives Ctrl-C to all that are attached to it.
func inForeground() bool { return true }
