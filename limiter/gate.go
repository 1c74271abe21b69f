// Package limiter has the gate of a limiter. Window, pauses, the gap between sends and the service's quotas decide
// whether an attempt may be sent now, and when to ask again. It is pure: no goroutine, lock, context or clock.
// [github.com/aimd-go/aimd] drives it for most programs, package admission at a server, and the simulator on virtual
// time.
package limiter

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Gate is a limiter without goroutines, locks and clocks, for programs that have their own: events in, effects out,
// one deadline. It decides when the next attempt may be sent. The order of waiting operations is the program's;
// package queue has the order of the text. To drive a gate:
//
//   - One goroutine at a time calls it, or a lock is held. Every time is the time since one start of the driver.
//   - If no operation waits, a new operation may go at once by Tried. Otherwise it waits.
//   - Report each attempt that ended, by Answered or Withdrawn, once for each ticket.
//   - After each event call Next with the number of operations that wait, until it returns false. For each ticket
//     send an attempt of the first waiting operation. The arrival or the end of an operation is an event too.
//   - Then set one timer for Deadline, if there is a deadline. When the timer fires, call Next again.
//   - A failed operation waits for the longer of the times of Waits, without a slot, before it waits for the gate.
//
// A question (Open, State, Gap, PausedUntil) changes nothing. A time that runs backwards counts as the latest time.
// So 0 will do for an event that needs no time: see Timed.
type Gate struct {
	window.Window
	// Amount is the cost that the operation at the front says, as Settings.MaxAmountRate and the service's quotas count
	// it; 0: it says no cost. Set it, as far as Allowed allows it, before Tried, Next and Deadline.
	Amount float64
	// Urgent: the operation at the front goes before those that are not urgent. Set it before Tried and Next.
	Urgent bool
	// Again: Tried sends at once, under the slot of an attempt that has just ended. Then it is false again.
	Again bool
	// Spent is the sum of the amounts that were sent, as MaxAmountRate counts them; 0 without that rate.
	Spent float64

	rules Settings

	now time.Duration
	// pausedUntil is the end of the pause for all. Until then no attempt is sent. obeys: a Retry-After asked for it.
	pausedUntil time.Duration
	obeys       bool
	// apart is the least time between the last send and the next, by Settings.MaxRate and MaxAmountRate.
	apart   time.Duration
	spacing spacing
	// last is the number of the attempt sent last, charged its amount.
	last    uint64
	charged float64
	// inRow counts the urgent attempts since the last that was not.
	inRow int

	block  block
	fog    fog
	faults faults
	starve starve
	shadow Shadow

	// part is its part of a window of several processes.
	part part

	// told is nil until the service reports a quota, or an operation says an amount. waiting operations were there at the last call.
	told    *told
	waiting int
}

// NewGate returns a gate in its initial state, or an error that names the wrong setting.
func NewGate(law window.NewLaw, s Settings) (Gate, error) {
	s, err := s.WithDefaults()
	if err != nil {
		return Gate{}, err
	}
	w, err := window.New(law, s.Window)
	return Gate{Window: w, rules: s, apart: s.apart(0), spacing: spacing{last: longAgo, spread: 1}, part: part{lastAt: longAgo}}, err
}

// Events.

// Tried sends an attempt if no operation waits. It reports false if the attempt has to wait.
func (g *Gate) Tried(now time.Duration) (window.Ticket, bool) {
	g.waiting = 1
	if g.Again {
		g.Again = false
		return g.sent(now), true
	}
	if g.seen(now); g.Open() && g.now >= g.due() {
		g.spacing.late = false
		return g.send(false), true
	}
	if g.Starved() {
		g.starve.since = g.now
	}
	return g.passes()
}

// Answered ends an attempt, with the service's Retry-After (0: no header), and returns what the law saw. A refusal
// for a used quota is Neutral. If the attempt is not in flight, Answered returns false and changes nothing.
func (g *Gate) Answered(now time.Duration, t window.Ticket, o window.Outcome, retryAfter time.Duration) (window.End, bool) {
	now = g.seen(now)
	if g.Left(t) { // the law ignores it: its time is not the time of an answer
		return window.End{Outcome: window.Neutral}, g.Withdrawn(t)
	}
	if g.Has(t) {
		o = g.fog.cleared(g.starved(t, o))
		if g.told != nil {
			o = g.ended(t, o)
		}
		if o.Overloaded() && g.aboveWindow(t) {
			return window.End{Outcome: o, Marks: window.Marks{Ignored: true}}, g.Window.Withdrawn(t)
		}
	}
	a, ok := g.Window.Answered(now, t, o, retryAfter)
	switch {
	case ok && o == window.Success:
		g.block.succeeded(now, t)
	case ok && o.Overloaded():
		g.overloaded(!a.Ignored, retryAfter)
		g.refund(t)
	}
	if ok && g.told != nil {
		g.told.took(t, a)
	}
	return a, ok
}

// overloaded begins a pause for all, if it is time to.
//
// The first cut after an accepted answer begins no pause. From the second cut in a row on (Streak), each cut pauses
// all sends, twice as long as the pause before: TCP's doubled timeout (RFC 6298, section 5.5). If a law spaces its
// sends and one attempt at a time is admitted, its gap replaces the pause.
//
// A Retry-After pauses all from the fifth cut in a row on, if these pauses did not help: rule 10 of docs/design.md.
func (g *Gate) overloaded(cut bool, retryAfter time.Duration) {
	streak := g.Streak()
	if streak < 2 {
		return
	}
	if cut && !g.spaces() {
		g.pauses(g.pause(streak-2), false)
	}
	if retryAfter > 0 && streak >= patience {
		g.pauses(g.obeyed(retryAfter, false), true)
	}
}

// pauses pauses all for so long from now, unless a longer pause has begun.
func (g *Gate) pauses(d time.Duration, obeys bool) {
	if until := g.now + d; d > 0 && until > g.pausedUntil {
		g.pausedUntil, g.obeys = until, obeys
	}
}

// Stopped pauses all sends, for the Retry-After that is obeyed, after an overload whose answer speaks for everybody. If a pause
// as long has begun, it changes nothing: all attempts in flight get such an answer.
func (g *Gate) Stopped(now, retryAfter time.Duration) {
	if least := g.asked(retryAfter, true).Within(g.rules.MaxRetryAfter); g.pausedUntil-g.seen(now) < least {
		g.pausedUntil, g.obeys = g.now+g.obeyed(retryAfter, true), true
	}
}

// Reconfigured puts the gate under new rules while attempts are in flight, or returns an error that names the wrong
// setting, and the old rules stay. If Settings.Window changes, so do the window and its law. After a shadow both begin
// anew, since what a law learned of traffic that it did not hold may be wrong. A pause that is longer than the new
// rules allow ends as if it had begun now. If a quota is used up, one attempt asks at once. Settings.Rand has no
// effect.
func (g *Gate) Reconfigured(now time.Duration, law window.NewLaw, s Settings) error {
	s.Rand = g.rules.Rand
	s, err := s.WithDefaults()
	if err != nil {
		return err
	}
	anew := g.rules.Shadow && !s.Shadow
	if s.Window != g.rules.Window || anew {
		if err := g.Window.Reconfigured(law, s.Window); err != nil {
			return err
		}
	}
	if anew {
		if fresh, err := window.New(law, s.Window); err == nil {
			_ = g.Restored(fresh.State())
		}
	}
	g.rules = s
	g.apart = g.apartOf(g.charged)
	// The longest that pause and retryAfter return.
	longest := max(s.PauseMax+s.PauseMax/2, s.MaxRetryAfter+min(s.MaxRetryAfter/2, time.Second))
	g.pausedUntil = min(g.pausedUntil, g.seen(now)+longest)
	if g.told != nil {
		g.told.Reserve, g.told.MaxRetryAfter = s.QuotaReserve, s.MaxRetryAfter
		g.told.Asked(g.now)
		g.Bound = 0
	}
	return nil
}

// Effects.

// Next books an attempt for the first waiting operation. waiting is the number of waiting operations. Next reports
// false if no attempt may go now.
func (g *Gate) Next(now time.Duration, waiting int) (window.Ticket, bool) {
	g.waiting = waiting
	if waiting == 0 || !g.open(now) {
		if g.spacing.late = waiting > 0 && (g.Open() || g.catchUp() > 0) && g.now >= g.pausedUntil; waiting > 0 {
			return g.passes()
		}
		return window.Ticket{}, false
	}
	return g.send(false), true
}

// Deadline returns when to call Next again without an event, and false if only an event can let the next
// attempt go. Its value may change with every event.
func (g *Gate) Deadline(waiting int) (time.Duration, bool) {
	g.waiting = waiting
	at := g.due()
	if _, quiet := g.Quiet(g.now); quiet > 0 && waiting > 0 {
		at = max(at, quiet)
		return at, at > g.now
	}
	if !g.Open() && g.Bound > 0 {
		return g.told.boundedUntil, waiting > 0 && g.told.boundedUntil > g.now
	}
	return at, waiting > 0 && g.Open() && at > g.now
}

// Questions.

// Gap is the shortest time between two sends: the gap of the law, or of Settings.MaxRate or MaxAmountRate
// if that is longer. 0: no gap.
func (g *Gate) Gap() time.Duration { return max(g.Window.Gap(), g.apart) }

// PausedUntil is the time when the last pause for all ends or ended.
func (g *Gate) PausedUntil() time.Duration { return g.pausedUntil }

// Obeys reports whether the last pause for all is the service's: a Retry-After, or an answer that speaks for everybody. Any
// other is the gate's own, after refusals in a row or a block.
func (g *Gate) Obeys() bool { return g.obeys }

// ClosedUntil is the earliest time of the next send, by the service's answers: the end of the pause for all, or if that
// is later, the time at which a used quota covers the Amount. 0: an attempt may go now.
func (g *Gate) ClosedUntil() (until time.Duration, used *QuotaState) {
	if g.told != nil {
		if q, ok := g.told.UsedUp(g.now, g.Amount); ok && q.Until > g.pausedUntil {
			return q.Until, (*QuotaState)(&q)
		}
	}
	if g.pausedUntil <= g.now {
		return 0, nil
	}
	return g.pausedUntil, nil
}

// seen notes the time, which never goes back, and returns the latest one.
func (g *Gate) seen(now time.Duration) time.Duration {
	g.now = max(g.now, now)
	if g.Bound > 0 && g.now >= g.told.boundedUntil {
		g.Bound = 0
	}
	return g.now
}

func (g *Gate) open(now time.Duration) bool {
	if g.seen(now) < g.due() {
		return false
	}
	if g.Open() {
		return true
	}
	quiet, _ := g.Quiet(now)
	return quiet > 0
}

// due is the earliest time of the next send, if the window is open. See Timed for a further reason.
func (g *Gate) due() time.Duration {
	return max(g.pausedUntil, g.spacedUntil(), g.quotaUntil(), g.part.turn)
}

// quotaUntil is the time when the quotas let the next attempt go, 0 without quotas.
func (g *Gate) quotaUntil() time.Duration {
	if g.told == nil {
		return 0
	}
	g.told.Next = g.Amount
	return g.told.Due(g.now, g.Flying()-len(g.told.heads), g.waiting)
}

// send sends an attempt. One that is held leaves the gap and the wait for a trial as they are.
func (g *Gate) send(held bool) window.Ticket {
	trial := !held && !g.Open()
	if !held {
		g.space()
	}
	t := g.Sent(g.now)
	if g.last = t.ID(); !held {
		g.starve.since = g.now
		g.sentInTurn()
	}
	if trial {
		g.starve.trial = t
	}
	if g.rules.Shadow {
		g.shadow.Sent++
	}
	if g.Urgent {
		g.SetUrgent(t)
		g.inRow++
	} else {
		g.inRow = 0
	}
	if g.charged != g.Amount {
		g.charged = g.Amount
		g.apart = g.apartOf(g.Amount)
	}
	if g.amountRate() > 0 {
		g.Spent += max(1, g.Amount)
	}
	if g.Amount > 0 {
		if g.told == nil {
			g.told = g.newTold(g.now)
		}
		g.told.said(g.last, g.Amount)
	}
	if g.told != nil {
		g.told.Sent(g.now, g.last)
	}
	return t
}

// sent sends an attempt that leaves the gap, the turns and the amounts as they are.
func (g *Gate) sent(now time.Duration) window.Ticket {
	t := g.Sent(g.seen(now))
	if g.last = t.ID(); g.Urgent {
		g.SetUrgent(t)
	}
	if g.told != nil {
		g.told.Sent(g.now, g.last)
	}
	return t
}
