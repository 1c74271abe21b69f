package again

import "golang.org/x/sys/unix"

// onePage makes the pipe hold one page: it is then writable only when it is empty.
func onePage(pipe int) { _, _ = unix.FcntlInt(uintptr(pipe), unix.F_SETPIPE_SZ, page) }

// tee copies up to n bytes from one pipe to another, and leaves them in the first. The
// error is unix.EINVAL if from is no pipe.
func tee(from, to, n int) (int, error) {
	copied, err := unix.Tee(from, to, n, 0)
	return int(copied), err
}

// unread returns how many bytes the pipe holds.
func unread(pipe int) (int, error) { return unix.IoctlGetInt(pipe, unix.TIOCINQ) }
