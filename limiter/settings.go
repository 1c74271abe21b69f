package limiter

import (
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Settings are the rules by which a Limiter decides. The zero value of every field means
// the documented default.
type Settings struct {
	// Window is where the window starts and how far it may go.
	Window window.Settings
	// QueueBound is the most new operations that may wait; 0: no bound.
	QueueBound int
	// PauseMin and PauseMax bound the pauses that double while cut follows cut
	// with nothing accepted in between, and an operation's own backoff:
	// 1 ms <= PauseMin <= PauseMax <= 1 h. 0 means 50 ms and 5 s; a negative PauseMax
	// turns both off.
	PauseMin, PauseMax time.Duration
	// Patience is how many overloads in a row an operation takes before it
	// backs off by itself, and how many cuts in a row it takes until a Retry-After
	// pauses everybody (never less than two): 1 or more; 0 means 5.
	Patience int
	// RetryAfterMax is the longest Retry-After that is obeyed, longer ones
	// count as this: 1 ms to 24 h; 0 means 5 min.
	RetryAfterMax time.Duration
	// Rand is the source of jitter, used under the lock; nil: one with a random seed.
	Rand *rand.Rand
}
