//go:build unix

package race

import (
	"syscall"
	"time"
)

// processorTime is the time that processors have worked for this process; 0: not known.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // which cannot fail for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
