package limiter

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// Permit is the right to make one attempt, and the duty to say how the attempt ended:
// exactly one call of Done. It is a small value; copies are the same permit, and the first
// release counts. The zero Permit is released already.
type Permit struct {
	l *Limiter
	t core.Ticket
}

// Done releases the permit with the attempt's outcome. If the permit was released before,
// Done returns ErrReleased and has no effect. It panics if o is not an outcome.
func (p Permit) Done(o window.Outcome) error { return p.release(o, 0) }

func (p Permit) release(o window.Outcome, retryAfter time.Duration) error {
	if !o.Valid() {
		panic(fmt.Sprintf("limiter: Permit.Done with %d, want Success, Overload, Timeout, Neutral or ClientError", o))
	}
	l := p.l
	if l == nil {
		return ErrReleased
	}
	l.mu.Lock()
	var now time.Duration
	if o.Overloaded() || l.core.Timed() {
		now = l.now()
	}
	before, paused := l.core.State().Cwnd, l.core.PausedUntil()
	change := l.core.Answered(now, p.t, o, retryAfter)
	l.counts.count(change, o)
	if change == core.Late {
		l.note(now, Event{Kind: Late, Outcome: o})
		l.unlock(now)
		return ErrReleased
	}
	if l.observer != nil || change != core.Steady && change != core.Grew {
		l.note(now, Event{Kind: kindOf[change], Before: before, Outcome: o, RTT: l.core.RTT(), RetryAfter: retryAfter})
	}
	if until := l.core.PausedUntil(); until > paused {
		l.counts.Pauses++
		l.note(now, Event{Kind: Paused, Wait: until - now, RetryAfter: l.asked(retryAfter, until-now)})
	}
	l.unlock(now)
	return nil
}

// asked returns the Retry-After that a pause obeys, or 0 if the pause is shorter, since it
// then has another cause (Rules.Patience).
func (l *Limiter) asked(retryAfter, pause time.Duration) time.Duration {
	retryAfter = min(retryAfter, l.config.Load().MaxRetryAfter)
	if retryAfter > pause {
		return 0
	}
	return retryAfter
}
