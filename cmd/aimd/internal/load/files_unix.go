//go:build unix

package load

import "syscall"

// openFiles is how many files, connections among them, this process may have open
// at a time; false if that is not known or has no bound. Go's runtime raised the
// soft limit to the hard one when the process began, where it could (package
// syscall, since Go 1.19).
func openFiles() (uint64, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return bound(uint64(r.Cur)) // signed on some systems
}
