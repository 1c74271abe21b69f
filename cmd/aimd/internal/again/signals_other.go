//go:build !unix

package again

import (
	"os"
	"os/exec"
)

var passed = []os.Signal{os.Interrupt}

// inForeground: elsewhere the console gives Ctrl-C to all that are attached to it.
func inForeground() bool { return true }

// There are no process groups: the command is never apart.
func setApart(*exec.Cmd) {}

func signalGroup(p *os.Process, sig os.Signal) error { return p.Signal(sig) }

// feed gives the command the stream itself: what one try reads, the next one lacks.
func (i *input) feed(cmd *exec.Cmd) (end func(), err error) {
	cmd.Stdin = i.file
	return func() {}, nil
}
