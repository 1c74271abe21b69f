package retry

import (
	"time"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/quota"
)

// rules are the rules of a Policy: the number of attempts of an operation, and their times. All values are allowed.
type rules struct {
	// maxAttempts is the most attempts of an operation, the first among them; 0 or less: no limit.
	maxAttempts int
	// backoff is the operation's backoff, never nil. pauseMax is its longest delay; 0: no bound.
	backoff  backoff.Backoff
	pauseMax time.Duration
	// maxRetryAfter is the longest Retry-After that is obeyed.
	maxRetryAfter time.Duration
	// rand is the source of jitter, never nil.
	rand backoff.Rand
}

// next returns the delays before the next attempt, after that number of attempts: the backoff of the given number
// (0: no backoff is due), and the wait that the service asked for. last is the backoff before. It returns false if
// there is no next attempt.
func (r rules) next(attempts, number int, last time.Duration, asked quota.Asked) (own, obeyed time.Duration, more bool) {
	if r.maxAttempts > 0 && attempts >= r.maxAttempts { // more: it was lowered meanwhile
		return 0, 0, false
	}
	if number > 0 {
		if own, more = r.backoff.Delay(backoff.State{Retry: number, Last: last}, r.rand); !more {
			return 0, 0, false
		}
		own = r.capped(own)
	}
	asked.Refusals = attempts
	return own, asked.Jittered(r.maxRetryAfter, r.rand), true
}

func (r rules) capped(delay time.Duration) time.Duration {
	if r.pauseMax == 0 || delay <= r.pauseMax {
		return delay
	}
	return r.pauseMax - time.Duration(r.rand.Float64()*float64(r.pauseMax/2))
}
