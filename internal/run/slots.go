package run

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/window"
)

// Slots is a limiter as a Runner uses it. It is safe for any number of goroutines. It must be a pointer
// to an unexported type: it is the context key that marks the attempts which hold one of its slots.
type Slots interface {
	// RetryDelay is core.Gate.RetryDelay.
	RetryDelay(failures int, last window.Outcome, retryAfter time.Duration) time.Duration
	// Take waits for a slot. A new operation waits at the end of the queue, a retry at its front.
	Take(ctx context.Context, retry bool) (core.Ticket, error)
	// Settle gives a slot back, once, with the verdict of its attempt and the error of that verdict.
	Settle(t core.Ticket, v attempt.Verdict, err error)
	// Reported notes the quotas that the head of an answer reports, for the attempt with the ticket.
	Reported(t core.Ticket, a quota.Answer)
	// Reached reports whether the service has ever answered.
	Reached() bool
	// Contact notes whether the service answered an attempt; if it did not, err is the attempt's error. It
	// reports whether the service has ever answered, and if not, the reason to give up, nil if it may come.
	Contact(answered bool, err error) (made bool, reason error)
	// InContact cuts a delay to the time that is left for the first contact.
	InContact(delay time.Duration) time.Duration
	// Paused returns how long the pause for all operations still lasts, 0 or less without one.
	Paused() time.Duration
	// Suspect notes an error that is neutral and final though it looks like a refusal.
	Suspect(err error)
	// Limits returns the limits of an operation as they are now.
	Limits() Limits
	// Closed returns a channel that is closed when the limiter is, and the error for that.
	Closed() (<-chan struct{}, error)
}

// Limits are the limits of an operation; 0 means no limit.
type Limits struct {
	// Attempts is the most attempts, Patience is core.Settings.Patience.
	Attempts, Patience int
	// Unpaced: the operation is within another's slot, so no window paces it. It backs off from its first
	// failure on.
	Unpaced bool
	// Timeout is the time of a single attempt.
	Timeout time.Duration
	// GiveUpAfter is the longest wait before an attempt.
	GiveUpAfter time.Duration
}

func (l Limits) tooLong(wait time.Duration) error {
	if l.GiveUpAfter == 0 || wait <= l.GiveUpAfter {
		return nil
	}
	return fmt.Errorf("%w: a wait of %v is longer than %v (WithGiveUpAfter)", attempt.ErrQuota, wait, l.GiveUpAfter)
}
