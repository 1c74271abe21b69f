package limiter

import "errors"

// What a limiter says no with, beside attempt.ErrQueueFull. Context errors come as they
// are, unwrapped.
var (
	// ErrClosed: the limiter takes no new work, Close or Drain was called.
	ErrClosed = errors.New("limiter: closed")
	// ErrHasSlot: Acquire was called with the context of an attempt that has a slot of the
	// limiter already, as within Do.
	ErrHasSlot = errors.New("limiter: Acquire within an attempt that has a slot")
	// ErrReleased: the permit was released before; nothing was changed.
	ErrReleased = errors.New("limiter: permit released already")
)
