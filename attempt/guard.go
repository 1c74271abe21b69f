package attempt

import (
	"context"

	"github.com/aimd-go/aimd/window"
)

// Guard is asked before each attempt of an operation. throttle.Throttle and retry.Budget are guards. It must
// be safe for any number of goroutines. Exactly one Ended follows each Admit that returned nil, whatever
// happens, with the same context or one derived from it.
type Guard interface {
	// Admit decides whether the operation's attempt of that number may be made. 1 is the first attempt, 0
	// an unknown number. An error ends the operation at once, and is its reason. Admit must not wait.
	Admit(ctx context.Context, attempt int) error
	// Ended reports how an admitted attempt ended. The zero Outcome means that the service did not
	// answer: the caller cancelled, the connection failed, or the request was not sent.
	Ended(ctx context.Context, o window.Outcome)
}
