package limiter

import (
	"slices"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/window"
)

// QuotaState is the state of one quota of the service.
type QuotaState struct {
	Name string
	// Limit and Left are the whole quota and its rest, in the service's unit.
	Limit, Left float64
	// Refused is the share of the spent quota that went to refused requests, by the reports: 0 to 1.
	Refused float64
	// Back is the time at which the quota is whole again, or a refused request may be sent again; 0: not known.
	Back time.Duration
	// Until is the time at which the next attempt may go, if the quota is used up; 0: the quota is not used up.
	Until time.Duration
}

// told is the service's report of its quotas and of a bound on the attempts in flight (Window.Bound), and the cost of
// the attempts in flight.
type told struct {
	quota.Quotas
	// heads are the attempts in flight, by number, whose answers have begun with a report. The value is true if the
	// attempt was refused because a quota is used up.
	heads map[uint64]bool
	// amounts are the costs of attempts in flight, by number: as their operations said, or as used.
	amounts map[uint64]float64
	// boundAt is the number of the attempt sent last when the service said its bound on those in flight, which
	// holds until the time boundedUntil.
	boundAt      uint64
	boundedUntil time.Duration
	// slots is the name of the bound: an answer may say its rest without its unit.
	slots string
	// trip is the mean round trip of accepted attempts, in which a new one counts an eighth (RFC 6298, section 2); 0
	// before the first. Of a law without a clock the attempts after the number untimed count: times are told since.
	trip    time.Duration
	untimed uint64
}

// If a quota comes back within four round trips and 15 s, no attempt waits for it: the service may mean its slots,
// and the window finds slots or a rate as soon. Our choice: 8 slots told as a quota took 2.4 times the optimum. The
// 15 s keep the wait for a quota of a minute if an answer takes half a minute.
const (
	soonTrips   = 4
	soonLongest = 15 * time.Second
)

// soon is the longest reset for which no attempt waits. Before an attempt is accepted only the time counts.
func (q *told) soon() time.Duration {
	if q.trip == 0 {
		return soonLongest
	}
	return min(soonTrips*q.trip, soonLongest)
}

// took notes the end of an attempt.
func (q *told) took(t window.Ticket, e window.End) {
	if e.Outcome.Accepted() && t.ID() > q.untimed {
		if q.trip == 0 {
			q.trip = max(1, e.RTT)
		}
		q.trip += (e.RTT - q.trip) / 8
	}
	q.Soon = q.soon()
}

func (g *Gate) newTold(now time.Duration) *told {
	t := &told{Quotas: quota.Quotas{Rand: g.rules.Rand}, heads: map[uint64]bool{}, amounts: map[uint64]float64{}}
	t.Sent(g.seen(now), g.last)
	if !g.Window.Timed() {
		t.untimed = g.last
	}
	return t
}

// forget forgets an attempt that ended.
func (t *told) forget(number uint64) {
	delete(t.heads, number)
	delete(t.amounts, number)
}

// Withdrawn takes back an attempt that was booked and then not sent, as Window.Withdrawn does.
func (g *Gate) Withdrawn(t window.Ticket) bool {
	if g.told != nil {
		g.told.begins(t.ID())
		g.told.forget(t.ID())
	}
	return g.Window.Withdrawn(t)
}

// Reported notes the quotas that the head of an answer reports. Call it before Answered: a refusal for a used quota
// does not cut the window. It returns the quota that is used up for longest, if that quota was not used up before.
func (g *Gate) Reported(now time.Duration, t window.Ticket, h answer.Head) (used QuotaState, ok bool) {
	if len(h.Reports) == 0 || !g.Has(t) {
		return used, false
	}
	if g.told == nil {
		g.told = g.newTold(now)
	}
	q := g.told
	before, _ := q.UsedUp(g.seen(now), 0)
	h.Reports = slices.Clone(h.Reports)
	for i, r := range h.Reports {
		if r.InFlight && r.Valid() {
			g.Bound, q.boundAt, q.boundedUntil = int(min(r.Limit, window.MaxWindow)), g.last, g.now+g.rules.MaxRetryAfter
			q.slots = r.Name
		}
		h.Reports[i].InFlight = r.InFlight || r.Name == q.slots && q.slots != ""
	}
	q.Soon, q.Reserve, q.MaxRetryAfter = q.soon(), g.rules.QuotaReserve, g.rules.MaxRetryAfter
	q.heads[t.ID()] = q.Noted(g.now, quota.Head{Head: h, Number: t.ID(), Amount: q.begins(t.ID())}) || q.heads[t.ID()]
	last, ok := q.UsedUp(g.now, 0)
	return QuotaState(last), ok && last.Name != before.Name
}

// ended notes the end of an attempt, and returns its outcome for the window.
func (g *Gate) ended(t window.Ticket, o window.Outcome) window.Outcome {
	short, begun := g.told.heads[t.ID()]
	if !begun {
		g.told.Noted(g.now, quota.Head{Head: answer.Head{Refused: !o.Accepted()}, Number: t.ID(), Amount: g.told.begins(t.ID())})
	}
	g.told.forget(t.ID())
	if t.ID() > g.told.boundAt { // sent after the bound was reported, and its answer has none
		g.Bound = 0
	}
	if short && o.Overloaded() {
		return window.Neutral
	}
	return o
}

// Quotas returns the state of each quota that the service reports.
func (g *Gate) Quotas(now time.Duration) (all []QuotaState) {
	if g.told == nil {
		return nil
	}
	for _, s := range g.told.States(g.seen(now)) {
		all = append(all, QuotaState(s))
	}
	return all
}
