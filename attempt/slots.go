package attempt

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Slots is a limiter as a Runner uses it; an aimd.Limiter has one. It is public since the limiter is in another package,
// and may get further methods: programs have no use for it. It is safe for any number of goroutines. It must be a
// pointer to an unexported type: it is the context key that marks the attempts which hold one of its slots.
type Slots interface {
	// Take waits for a slot. A new operation waits at the end of the queue, a retry at its front, and one that is aside by
	// its run in a second queue.
	Take(ctx context.Context, retry bool, run limiter.Run) (window.Ticket, error)
	// Failed notes a failure in the operation's run, once for each attempt and before its Settle: see limiter.Gate.Failed. v and
	// err are the verdict and the error. broken: there was no answer.
	Failed(t window.Ticket, run *limiter.Run, v verdict.Verdict, broken bool, err error)
	// Opened notes that the answer of the attempt with the ticket has begun, and stays open. Lived notes that a part came
	// of an answer whose length is known.
	Opened(t window.Ticket)
	Lived()
	// Settle gives a slot back, once, with the verdict of its attempt and the error of that verdict. run is nil for an
	// operation that never failed.
	Settle(t window.Ticket, v verdict.Verdict, err error, run *limiter.Run)
	// Again notes a failure within the attempt with the ticket, as Settle does, and that it is sent again under its slot.
	Again(t window.Ticket, v verdict.Verdict, err error, run *limiter.Run)
	// Reported notes the quotas that the head of an answer reports, for the attempt with the ticket; v is the verdict
	// on the head.
	Reported(t window.Ticket, v verdict.Verdict, quotas []answer.Quota)
	// Used notes what the attempt with the ticket cost: see Used.
	Used(t window.Ticket, amount float64)
	// Reached reports whether the service has ever answered.
	Reached() bool
	// Contact notes whether the service answered an attempt; if it did not, err is the attempt's error. It reports
	// whether the service has ever answered, and if not, the reason to give up, or nil.
	Contact(answered bool, err error) (made bool, reason error)
	// InContact cuts a delay to the time that is left for the first contact.
	InContact(delay time.Duration) time.Duration
	// Waits returns for how long an operation waits. failures is the number of its failures, v the last verdict. last
	// is the verdict's outcome, or window.Neutral for an operation that no window paces.
	Waits(failures int, last window.Outcome, v verdict.Verdict, run *limiter.Run) Waits
	// Denied notes a 403, and reports whether it belongs to a block: see limiter.Gate.Denied.
	Denied(t window.Ticket, err error, again bool) bool
	// Limits returns the present limits of an operation.
	Limits() Limits
	// Closed returns a channel that is closed with the limiter, and the error of a closed limiter.
	Closed() (<-chan struct{}, error)
}
