package attempt

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/window"
)

// Slots is a limiter as a Runner uses it; an aimd.Limiter has one. It is public since the limiter is in another package,
// and may get further methods: programs have no use for it. It is safe for any number of goroutines. It must be a
// pointer to an unexported type: it is the context key that marks the attempts which hold one of its slots.
type Slots interface {
	// Take waits for a slot. A new operation waits at the end of the queue, a retry at its front.
	Take(ctx context.Context, retry bool) (window.Ticket, error)
	// Settle gives a slot back, once, with the verdict of its attempt and the error of that verdict.
	Settle(t window.Ticket, v Verdict, err error)
	// Reported notes the quotas that the head of an answer reports, for the attempt with the ticket; v is the verdict
	// on the head.
	Reported(t window.Ticket, v Verdict, quotas []answer.Quota)
	// Reached reports whether the service has ever answered.
	Reached() bool
	// Contact notes whether the service answered an attempt; if it did not, err is the attempt's error. It
	// reports whether the service has ever answered, and if not, the reason to give up, nil if it may come.
	Contact(answered bool, err error) (made bool, reason error)
	// InContact cuts a delay to the time that is left for the first contact.
	InContact(delay time.Duration) time.Duration
	// Delays returns after so many failures of an operation, the last with the verdict, for how long it backs off on its
	// own, for how long it waits for the service, and for how long the pause of all operations still lasts, 0 without one.
	// last is the verdict's outcome, or window.Neutral for an operation that no window paces.
	Delays(failures int, last window.Outcome, v Verdict) (backoff, obeyed, pause time.Duration)
	// Denied notes an answer that is a 403, and reports whether it is taken for a block: see limiter.Gate.Denied.
	Denied(t window.Ticket, err error, again bool) bool
	// Limits returns the limits of an operation as they are now.
	Limits() Limits
	// Closed returns a channel that is closed when the limiter is, and the error for that.
	Closed() (<-chan struct{}, error)
}
