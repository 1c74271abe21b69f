package aimd

import (
	"errors"

	"github.com/aimd-go/aimd/internal/reason"
)

// The reasons for which a limiter makes no attempt, or no further attempt. errors.Is finds them in the error of an
// operation.
var (
	// ErrClosed: the limiter takes no new work, Close or Shutdown was called.
	ErrClosed = errors.New("aimd: closed")
	// ErrQueueFull: as many operations wait for a slot as Config.QueueBound allows. No attempt was sent.
	ErrQueueFull = reason.ErrQueueFull
	// ErrAttempts: the operation has made as many attempts as Config.MaxAttempts, or its policy, allows.
	ErrAttempts = reason.ErrAttempts
	// ErrOwnFault: the operation fails again and again while the service takes others.
	ErrOwnFault = reason.ErrOwnFault
	// ErrWait: the next attempt would have to wait for longer than Config.MaxWait.
	ErrWait = reason.ErrWait
	// ErrQuota: a quota of the service is used up, of the hour, the day or the account.
	ErrQuota = reason.ErrQuota
	// ErrNeverAnswered: the service has not answered within Config.FirstContact, and never before.
	ErrNeverAnswered = reason.ErrNeverAnswered
)
