// Package reason has the errors for which there is no further attempt, since packages below aimd return them too. Package
// aimd exports them.
package reason

import "errors"

var (
	ErrAttempts      = errors.New("aimd: attempt limit reached")
	ErrQueueFull     = errors.New("aimd: queue full")
	ErrOwnFault      = errors.New("aimd: fails again and again while others succeed")
	ErrWait          = errors.New("aimd: wait too long")
	ErrQuota         = errors.New("aimd: out of quota, a retry soon does not help")
	ErrNeverAnswered = errors.New("aimd: the service has never answered")
)
