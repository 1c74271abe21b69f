//go:build unix

package cli

import "golang.org/x/sys/unix"

// Files is the number of files that the process may have open, 0 for no bound that matters.
func Files() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<20 {
		return 0
	}
	return int(l.Cur)
}
