//go:build unix

package again

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// inForeground reports whether aimd and the command are those to which the terminal
// itself sends what its keys mean.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// setApart gives the command a process group of its own.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup gives the signal to all of the command's process group.
func signalGroup(p *os.Process, sig os.Signal) error {
	err := syscall.Kill(-p.Pid, sig.(syscall.Signal))
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
