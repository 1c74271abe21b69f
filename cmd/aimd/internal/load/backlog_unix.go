//go:build unix

package load

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// setBacklog makes the kernel keep at most n connections that were not accepted yet, in place
// of the most that the system allows.
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
