package attempt

import (
	"context"
	"errors"
	"net"

	"github.com/aimd-go/aimd/window"
)

// Guard is asked before each attempt of an operation, and told how each attempt
// that it admitted ended. throttle.Throttle and retry.Budget are guards. It
// must be safe for any number of goroutines.
//
// Each Admit that returned nil is followed by exactly one Ended, whatever
// happens, with the same context or one derived from it.
type Guard interface {
	// Admit is asked whether the operation's attempt of that number may be made:
	// 1 for the first, 0 where it is not known. An error ends the operation at
	// once, and is its reason. Admit must not wait.
	Admit(ctx context.Context, attempt int) error
	// Ended tells how an admitted attempt ended. The zero Outcome: the service
	// said nothing; the caller cancelled it, the connection failed, or it
	// was not sent after all.
	Ended(ctx context.Context, o window.Outcome)
}

// guards are guards one after the other. An attempt is made if all of them admit it.
type guards []Guard

// admit asks the guards in order, up to the first that refuses. Those before it
// are told that the attempt was not sent.
func (g guards) admit(ctx context.Context, attempt int) error {
	admitted := 0
	defer func() {
		if admitted < len(g) { // one refused, or panicked
			g[:admitted].ended(ctx, 0)
		}
	}()
	for _, guard := range g {
		if err := guard.Admit(ctx, attempt); err != nil {
			return err
		}
		admitted++
	}
	return nil
}

// ended tells all guards how an admitted attempt ended; all of them also if one
// panics.
func (g guards) ended(ctx context.Context, o window.Outcome) {
	if len(g) == 0 {
		return
	}
	defer g[1:].ended(ctx, o)
	g[0].Ended(ctx, o)
}

// unanswered reports whether the error tells that there was no answer.
func unanswered(err error) bool {
	var status interface{ HTTPStatusCode() int }
	if errors.As(err, &status) && status.HTTPStatusCode() >= 400 {
		return false
	}
	var own interface{ Unanswered() bool }
	if errors.As(err, &own) && own.Unanswered() {
		return true
	}
	var network net.Error
	return errors.Is(err, context.Canceled) || cutOff(err) || errors.As(err, &network) || unsent(err)
}

// unsent reports whether the error tells that nothing was sent.
func unsent(err error) bool {
	var u interface{ NotSent() bool }
	return errors.As(err, &u) && u.NotSent()
}

// ofContext reports whether the error is that of a context.
func ofContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
