// Package policy is the pure half of retry.Policy, which package sim drives too.
package policy

import (
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/delay"
)

// Rules say how often an operation is tried again, and when. All values are allowed.
type Rules struct {
	// MaxAttempts is the most attempts of an operation, the first among them; 0 or less: no limit.
	MaxAttempts int
	// Backoff is the operation's own backoff, never nil, and PauseMax its longest delay; 0: none.
	Backoff  backoff.Backoff
	PauseMax time.Duration
	// MaxRetryAfter is the longest Retry-After that is obeyed.
	MaxRetryAfter time.Duration
	// Rand is the source of jitter, never nil.
	Rand backoff.Rand
}

// Decide decides what follows the failure. Its verdict's Retry does not count.
func (r Rules) Decide(f attempt.Failure) attempt.Decision {
	if r.MaxAttempts > 0 && f.Attempt >= r.MaxAttempts { // more: it was lowered meanwhile
		return attempt.Decision{Reason: attempt.ErrAttempts}
	}
	d := attempt.Decision{Retry: true}
	if f.Backoff > 0 {
		delay, more := r.Backoff.Delay(backoff.State{Retry: f.Backoff, Last: f.Last}, r.Rand)
		if !more {
			return attempt.Decision{Reason: attempt.ErrAttempts}
		}
		d.Delay = r.capped(delay)
	}
	asked := delay.Asked{After: f.Verdict.RetryAfter, Stop: f.Verdict.Stop, Refusals: f.Attempt}
	d.RetryAfter = asked.Jittered(r.MaxRetryAfter, r.Rand)
	return d
}

func (r Rules) capped(delay time.Duration) time.Duration {
	if r.PauseMax == 0 || delay <= r.PauseMax {
		return delay
	}
	return r.PauseMax - time.Duration(r.Rand.Float64()*float64(r.PauseMax/2))
}
