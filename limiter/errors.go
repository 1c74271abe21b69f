package limiter

import "errors"

// The errors of a limiter, besides attempt.ErrQueueFull. Context errors are returned
// unwrapped.
var (
	// ErrClosed: the limiter takes no new work, Close or Drain was called.
	ErrClosed = errors.New("limiter: closed")
	// ErrHasSlot: Acquire was called with the context of an attempt that has a slot of the
	// limiter already, as within Do.
	ErrHasSlot = errors.New("limiter: Acquire within an attempt that has a slot")
	// ErrReleased: the permit was released before; the second release is ignored.
	ErrReleased = errors.New("limiter: permit released already")
)
