//go:build !unix

package again

import (
	"os"
	"os/exec"
)

// group: elsewhere there are no process groups, and the console sends Ctrl-C to all that are attached to it.
func group(cmd *exec.Cmd) (send func(os.Signal) error) {
	return func(s os.Signal) error { return cmd.Process.Signal(s) }
}

func atEnd(*os.File) bool { return false }
