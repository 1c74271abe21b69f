package limiter

import (
	"time"

	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/window"
)

// told is what the service reports of its quotas, and of a bound on the attempts in flight.
type told struct {
	quota.Quotas
	// heads are the attempts in flight, by number, whose answers have begun with a report. The value is true if the
	// attempt was refused because a quota is used up.
	heads map[uint64]bool
	// bound is the most attempts in flight that the service allows, until the time boundedUntil; 0: it says none.
	// boundAt is the number of the attempt sent last when it said so.
	bound        int
	boundAt      uint64
	boundedUntil time.Duration
}

// Limit is Window.Limit, at most the bound that the service reports.
func (g *Gate) Limit() int {
	if g.told == nil || g.told.bound == 0 {
		return g.Window.Limit()
	}
	return min(g.Window.Limit(), g.told.bound)
}

// Open is Window.Open within Limit.
func (g *Gate) Open() bool { return g.Flying() < g.Limit() }

// Withdrawn takes back an attempt that was booked and then not sent, as Window.Withdrawn does.
func (g *Gate) Withdrawn(t window.Ticket) bool {
	if g.told != nil {
		g.told.Answered(g.now, quota.Answer{Number: t.ID(), Refused: true})
		delete(g.told.heads, t.ID())
	}
	return g.Window.Withdrawn(t)
}

// Reported notes the quotas that the head of an answer reports, before Answered: a refusal for a quota that
// is used up does not cut the window. It returns the quota that is used up for longest, if it was not before.
func (g *Gate) Reported(now time.Duration, t window.Ticket, a quota.Answer) (used quota.State, ok bool) {
	if len(a.Reports) == 0 || !g.Has(t) {
		return used, false
	}
	if g.told == nil {
		g.told = &told{Quotas: quota.Quotas{Rand: g.rules.Rand}, heads: map[uint64]bool{}}
		g.told.Sent(g.seen(now), g.last)
	}
	q := g.told
	before, _ := q.UsedUp(g.seen(now))
	for _, r := range a.Reports {
		if r.InFlight && r.Valid() {
			q.bound, q.boundAt, q.boundedUntil = int(min(r.Limit, window.MaxWindow)), g.last, g.now+g.rules.MaxRetryAfter
		}
	}
	a.Number, q.Reserve, q.MaxRetryAfter = t.ID(), g.rules.Reserve, g.rules.MaxRetryAfter
	q.heads[t.ID()] = q.Answered(g.now, a) || q.heads[t.ID()]
	used, ok = q.UsedUp(g.now)
	return used, ok && used.Name != before.Name
}

// ended notes the end of an attempt, and returns its outcome for the window.
func (q *told) ended(now time.Duration, t window.Ticket, o window.Outcome) window.Outcome {
	short, begun := q.heads[t.ID()]
	if !begun {
		q.Answered(now, quota.Answer{Number: t.ID(), Refused: !o.Accepted()})
	}
	delete(q.heads, t.ID())
	if t.ID() > q.boundAt { // sent after the bound was reported, and its answer has none
		q.bound = 0
	}
	if short && o.Overloaded() {
		return window.Neutral
	}
	return o
}

// Quotas returns how the quotas stand that the service reports.
func (g *Gate) Quotas(now time.Duration) []quota.State {
	if g.told == nil {
		return nil
	}
	return g.told.States(g.seen(now))
}

// UsedUp returns the quota that is used up for longest, and false if none is.
func (g *Gate) UsedUp() (quota.State, bool) {
	if g.told == nil {
		return quota.State{}, false
	}
	return g.told.UsedUp(g.now)
}
