//go:build !unix

package again

import (
	"os"
	"os/exec"
)

// inForeground: elsewhere the console gives Ctrl-C to all that are attached to it.
func inForeground() bool { return true }

// There are no process groups: the command is never apart.
func setApart(*exec.Cmd) {}

func signalGroup(p *os.Process, sig os.Signal) error { return p.Signal(sig) }
