package limiter

import "github.com/aimd-go/aimd/window"

// Permit is the right to make one attempt, and the duty to say how it ended:
// exactly one call of Done or Settle. It is a small value; copies are the same
// permit, and the first release counts. The zero Permit is released already.
type Permit struct {
	l *Limiter
	t window.Ticket
}

// Done releases the permit with the attempt's outcome. A permit released
// before gives ErrReleased, and nothing else happens.
// It panics if o is not an outcome.
func (p Permit) Done(o Outcome) error { return p.release(o, 0) }

// Settle is Done with what a classifier said of the attempt, the service's
// Retry-After with it.
func (p Permit) Settle(v Verdict) error { return p.release(v.Outcome, v.RetryAfter) }

// Attempt is the attempt's number: 1 for the limiter's first attempt, 2 for
// the next; 0 for the zero Permit.
func (p Permit) Attempt() uint64 { return p.t.ID() }
