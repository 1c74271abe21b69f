package limiter

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// Permit is the right to make one attempt, and the duty to say how the attempt ended: exactly one call of
// Done. It is a small value; copies are the same permit. The zero Permit is released already.
type Permit struct {
	l *Limiter
	t core.Ticket
}

// Done releases the permit with the attempt's outcome. If the permit was released before, Done returns
// ErrReleased and has no effect. It panics if o is not an outcome.
func (p Permit) Done(o window.Outcome) error { return p.release(attempt.Verdict{Outcome: o}, nil) }

// release is Done for an attempt that failed with err, and for its verdict.
func (p Permit) release(v attempt.Verdict, err error) error {
	o := v.Outcome
	if !o.Valid() {
		panic(fmt.Sprintf("limiter: Permit.Done with %d, want Success, Overload, Timeout, Neutral or ClientError", o))
	}
	l := p.l
	if l == nil {
		return ErrReleased
	}
	l.mu.Lock()
	var now time.Duration
	if o.Overloaded() || v.Stop || l.core.Timed() {
		now = l.now()
	}
	before, paused := l.core.State(), l.core.PausedUntil()
	change := l.core.Answered(now, p.t, o, v.RetryAfter)
	l.counts.count(change, o)
	if change == core.Late {
		l.note(now, Event{Kind: Late, Outcome: o})
		l.unlock(now)
		return ErrReleased
	}
	if l.observer != nil || change != core.Steady && change != core.Grew {
		l.note(now, Event{Kind: kindOf[change], Before: before.Cwnd, GapBefore: before.Gap, Outcome: o, RTT: l.core.RTT(), RetryAfter: v.RetryAfter})
	}
	if v.Stop && change != core.Steady { // a refusal for a quota closes the quota instead
		l.core.Stopped(now, v.RetryAfter)
	}
	if until := l.core.PausedUntil(); until > paused {
		l.paused(now, until-now, v, err)
	}
	l.unlock(now)
	return nil
}
