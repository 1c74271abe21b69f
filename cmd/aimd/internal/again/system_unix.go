//go:build unix

package again

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group gives the command a process group of its own, so that signals reach its children too, and returns a
// function that sends them. In the foreground of a terminal there is only one group. The terminal sends
// Ctrl-C to the whole group: the command would take a second one as an order to end at once.
func group(cmd *exec.Cmd) (send func(os.Signal) error) {
	if inForeground() {
		return func(s os.Signal) error {
			if s == os.Interrupt {
				return nil
			}
			return cmd.Process.Signal(s)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func(s os.Signal) error { return syscall.Kill(-cmd.Process.Pid, s.(syscall.Signal)) }
}

// inForeground reports whether aimd and the command are those to which the terminal itself sends what its keys mean.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// atEnd reports whether the file is a pipe that nobody writes to any more, and that is read. Linux says so; a
// system that adds POLLIN at the end has no such pipe.
func atEnd(file *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents == unix.POLLHUP
}
