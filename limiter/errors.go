package limiter

import (
	"errors"

	"github.com/aimd-go/aimd/attempt"
)

// What a limiter says no with. Context errors come as they are, unwrapped.
var (
	// ErrClosed: the limiter takes no new work, Close or Drain was called.
	ErrClosed = errors.New("limiter: closed")
	// ErrQueueFull is attempt.ErrQueueFull: as many operations wait as the queue
	// bound lets in.
	ErrQueueFull = attempt.ErrQueueFull
	// ErrReleased: the permit was released before; nothing was changed.
	ErrReleased = errors.New("limiter: permit released already")
)
