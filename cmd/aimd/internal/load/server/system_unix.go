//go:build unix

package server

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// setBacklog makes the kernel keep at most n connections that were not accepted yet. Go asks
// for the most that the system allows. If asked again, the kernel takes the new number.
func setBacklog(l net.Listener, n int) error {
	c, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("backlog of %d: %w", n, err)
	}
	return nil
}

// OpenFiles is how many files, connections among them, this process may have open
// at a time; false if that is not known or has no bound. Go's runtime raised the
// soft limit to the hard one when the process began, where it could (package
// syscall, since Go 1.19).
func OpenFiles() (uint64, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return bound(uint64(r.Cur)) // signed on some systems
}
