package attempt

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Slots gives attempts their slots, and says how operations are paced and
// bounded. It is how a limiter is handed in. It must be safe for any number
// of goroutines, and a pointer to a type that nobody else knows: it is the key under
// which the context of an attempt that has a slot of it, and has not ended, has a value.
type Slots interface {
	Pacing
	// Take waits for a slot: a new operation's attempt at the end of the queue, a
	// retry at its front.
	Take(ctx context.Context, retry bool) (window.Ticket, error)
	// Settle gives a slot back, once, with what the attempt came to.
	Settle(t window.Ticket, v Verdict)
	// Reached reports whether the service ever answered.
	Reached() bool
	// Contact is told of each attempt that ended whether the service answered it; if
	// not, err says that nobody was there. It reports whether the service ever
	// answered, and if not, why there is no use in going on, nil if there may be.
	Contact(answered bool, err error) (made bool, reason error)
	// Suspect is told of an error that is neutral and final though it looks like a
	// refusal: the classifier may not know it.
	Suspect(err error)
	// Limits are the most attempts of an operation, and the time that a single
	// one may take, as they are now; 0: no limit.
	Limits() (attempts int, timeout time.Duration)
	// Closed returns what is closed once there are no more slots, and the error
	// that says so.
	Closed() (<-chan struct{}, error)
}
