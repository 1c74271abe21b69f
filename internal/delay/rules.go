package delay

import (
	"time"

	"github.com/aimd-go/aimd/backoff"
)

// Rules are the rules of retry.Policy, which package sim drives too: the number of attempts of an operation, and
// their times. All values are allowed.
type Rules struct {
	// MaxAttempts is the most attempts of an operation, the first among them; 0 or less: no limit.
	MaxAttempts int
	// Backoff is the operation's backoff, never nil. PauseMax is its longest delay; 0: no bound.
	Backoff  backoff.Backoff
	PauseMax time.Duration
	// MaxRetryAfter is the longest Retry-After that is obeyed.
	MaxRetryAfter time.Duration
	// Rand is the source of jitter, never nil.
	Rand backoff.Rand
}

// Next returns the delays before the next attempt, after that number of attempts: the backoff of the given number
// (0: no backoff is due), and the wait that the service asked for. last is the backoff before. It returns false if
// there is no next attempt.
func (r Rules) Next(attempts, number int, last time.Duration, asked Asked) (own, obeyed time.Duration, more bool) {
	if r.MaxAttempts > 0 && attempts >= r.MaxAttempts { // more: it was lowered meanwhile
		return 0, 0, false
	}
	if number > 0 {
		if own, more = r.Backoff.Delay(backoff.State{Retry: number, Last: last}, r.Rand); !more {
			return 0, 0, false
		}
		own = r.capped(own)
	}
	asked.Refusals = attempts
	return own, asked.Jittered(r.MaxRetryAfter, r.Rand), true
}

func (r Rules) capped(delay time.Duration) time.Duration {
	if r.PauseMax == 0 || delay <= r.PauseMax {
		return delay
	}
	return r.PauseMax - time.Duration(r.Rand.Float64()*float64(r.PauseMax/2))
}
