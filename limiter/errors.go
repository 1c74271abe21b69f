package limiter

import "errors"

// What a limiter says no with, beside attempt.ErrQueueFull. Context errors come as they
// are, unwrapped.
var (
	// ErrClosed: the limiter takes no new work, Close or Drain was called.
	ErrClosed = errors.New("limiter: closed")
	// ErrReleased: the permit was released before; nothing was changed.
	ErrReleased = errors.New("limiter: permit released already")
)
