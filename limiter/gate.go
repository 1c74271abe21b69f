// Package limiter has the gate of a limiter: the window, the pauses, the gap between sends and the quotas of the
// service decide whether an attempt may be sent now, and when to look again. It is pure: no goroutine, lock,
// context or clock. [github.com/aimd-go/aimd] drives it for most programs, package admission at a server, and
// package sim on virtual time.
package limiter

import (
	"time"

	"github.com/aimd-go/aimd/internal/delay"
	"github.com/aimd-go/aimd/window"
)

// Gate is a limiter without goroutines, locks and clocks, for programs that have their own: events in, effects out,
// one deadline. It decides when the next attempt may be sent, whatever the order of those that wait; package queue
// has the order of the text. To drive a gate:
//
//   - One goroutine at a time calls it, or a lock is held. Every time is the time since one start of the driver.
//   - A new operation may go at once by Tried, if none waits. Otherwise it waits.
//   - Report each attempt that ended, by Answered or Withdrawn, once for each ticket.
//   - After each event call Next with the number of operations that wait, until it returns false. For each ticket send
//     an attempt of the operation that is first. That an operation came or left is an event too.
//   - Then set one timer for Deadline, if there is one. The timer is an event without a name: call Next again.
//   - A failed operation waits for the longer of Backoff and Obeyed, without a slot, before it waits for the gate.
//
// A question (Open, State, Gap, PausedUntil) changes nothing. A time that runs backwards counts as the latest one, so
// 0 will do for an event that needs no time: see Timed.
type Gate struct {
	window.Window
	rules Settings

	now time.Duration
	// pausedUntil is the end of the pause for all. Until then no attempt is sent.
	pausedUntil time.Duration
	// apart is the least time between two sends, by Settings.MaxRate.
	apart time.Duration
	// sent is the last send, if there is a gap: the time it was due, if only the timer was late.
	sent time.Duration
	// last is the number of the attempt sent last.
	last uint64
	// delayed: the next send is late, since the operation at the front had to wait for the timer of the gap or, if
	// the law catches up, for the window.
	delayed bool
	// spread is the factor of the next gap, if it is spread.
	spread float64

	block block
	fog   fog

	// told is nil until the service reports a quota. waiting operations were there at the last call.
	told    *told
	waiting int
}

// lateness is how late a timer may be without delaying the sends after it. A timer of a busy machine is many
// milliseconds late: with 2 ms here, a store with a gap of 3 ms took a twentieth more time.
const lateness = 20 * time.Millisecond

// NewGate returns a gate in its initial state, or an error that names the wrong setting.
func NewGate(law window.NewLaw, s Settings) (Gate, error) {
	s, err := s.WithDefaults()
	if err != nil {
		return Gate{}, err
	}
	w, err := window.New(law, s.Window)
	return Gate{Window: w, rules: s, apart: s.apart(), sent: longAgo, spread: 1}, err
}

// Events.

// Tried sends an attempt if no operation waits. It reports false if the attempt has to wait.
func (g *Gate) Tried(now time.Duration) (window.Ticket, bool) {
	g.waiting = 1
	if !g.Open() || g.Timed() && !g.open(now) {
		return window.Ticket{}, false
	}
	g.delayed = false
	return g.send(), true
}

// Answered ends an attempt, with the service's Retry-After (0: no header), and returns it as the law saw it: a refusal
// for a quota that is used up is Neutral. It returns false for an attempt that is not in flight, and changes nothing.
func (g *Gate) Answered(now time.Duration, t window.Ticket, o window.Outcome, retryAfter time.Duration) (window.Answer, bool) {
	now = g.seen(now)
	if g.Has(t) {
		o = g.fog.cleared(o)
		if g.told != nil {
			o = g.ended(t, o)
		}
	}
	a, ok := g.Window.Answered(now, t, o)
	switch {
	case ok && o == window.Success:
		g.block.succeeded(now, t)
	case ok && o.Overloaded():
		g.overloaded(!a.Ignored, retryAfter)
	}
	if g.told != nil {
		g.told.Soon = g.soon()
	}
	return a, ok
}

// overloaded begins a pause for all, if it is time to.
//
// The first cut after an accepted answer begins no pause. From the second in a row on, see Streak, each cut
// pauses all sends, twice as long as the one before: TCP's doubled timeout (RFC 6298, section 5.5). A law that
// spaces its sends at the least window has that in its gap, and gets no pause.
//
// A Retry-After pauses all only if these pauses did not help either, from the fifth cut in a row on: rule 10 of
// docs/design.md.
func (g *Gate) overloaded(cut bool, retryAfter time.Duration) {
	streak := g.Streak()
	if g.State().Pace == window.Waits && retryAfter > g.State().Trip && g.spaces() {
		g.pausedUntil = max(g.pausedUntil, g.now+g.Obeyed(retryAfter, false))
		return
	}
	if streak < 2 {
		return
	}
	var d time.Duration
	if cut && !g.spaces() {
		d = g.pause(streak - 2)
	}
	if retryAfter > 0 && streak >= delay.Patience {
		d = max(d, g.Obeyed(retryAfter, false))
		g.Restarted()
	}
	if d > 0 {
		g.pausedUntil = max(g.pausedUntil, g.now+d)
	}
}

// Stopped pauses all sends after an overload whose answer speaks for everybody, as Obeyed says, unless a pause
// that is as long has begun: all in flight get such an answer.
func (g *Gate) Stopped(now, retryAfter time.Duration) {
	if least := g.asked(retryAfter, true).Within(g.rules.MaxRetryAfter); g.pausedUntil-g.seen(now) < least {
		g.pausedUntil = g.now + g.Obeyed(retryAfter, true)
	}
}

// Reconfigured puts the gate under new rules while attempts are in flight, or returns an error that names the
// wrong setting, and the old rules stay. If Settings.Window did change, so do the window and its law. A pause
// that is longer than the new rules allow ends as if it had begun now under them. If a quota is used up, one
// attempt asks at once. Settings.Rand has no effect.
func (g *Gate) Reconfigured(now time.Duration, law window.NewLaw, s Settings) error {
	s.Rand = g.rules.Rand
	s, err := s.WithDefaults()
	if err != nil {
		return err
	}
	if s.Window != g.rules.Window {
		if err := g.Window.Reconfigured(law, s.Window); err != nil {
			return err
		}
	}
	g.rules, g.apart = s, s.apart()
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

// Next books the attempt of the operation that is first of those that wait, waiting in number. It reports false if
// none may go now.
func (g *Gate) Next(now time.Duration, waiting int) (window.Ticket, bool) {
	g.waiting = waiting
	if waiting == 0 || !g.open(now) {
		g.delayed = waiting > 0 && (g.Open() || g.catchUp() > 0) && g.now >= g.pausedUntil
		return window.Ticket{}, false
	}
	return g.send(), true
}

// Deadline returns when to call Next again without an event, and false if only an event can let the next
// attempt go. Its value may change with every event.
func (g *Gate) Deadline(waiting int) (time.Duration, bool) {
	g.waiting = waiting
	at := g.due()
	if !g.Open() && g.Bound > 0 {
		return g.told.boundedUntil, waiting > 0 && g.told.boundedUntil > g.now
	}
	return at, waiting > 0 && g.Open() && at > g.now
}

// Backoff returns how long an operation waits on its own, without a slot, before it rejoins the queue, after that
// many failures in a row, the latest with the outcome last. After overloads that begins with the sixth: the
// window paces them.
func (g *Gate) Backoff(failures int, last window.Outcome) time.Duration {
	if n := delay.Backoffs(failures, last.Overloaded()); n > 0 {
		return g.pause(n - 1)
	}
	return 0
}

// Obeyed returns how long a refused operation waits for the service, or all do (stop), with jitter.
func (g *Gate) Obeyed(retryAfter time.Duration, stop bool) time.Duration {
	return g.asked(retryAfter, stop).Jittered(g.rules.MaxRetryAfter, g.rules.Rand)
}

func (g *Gate) asked(retryAfter time.Duration, stop bool) delay.Asked {
	return delay.Asked{After: retryAfter, Stop: stop, Refusals: g.Streak()}
}

// Questions.

// Timed reports whether the next event needs the time. An overload always needs it.
func (g *Gate) Timed() bool {
	return g.Window.Timed() || g.pausedUntil > g.now || g.Gap() > 0 || g.told != nil
}

// Gap is the shortest time between two sends: of a law that spaces them and by Settings.MaxRate. 0: there is
// none.
func (g *Gate) Gap() time.Duration { return max(g.Window.Gap(), g.apart) }

// PausedUntil is the time when the last pause for all ends or ended.
func (g *Gate) PausedUntil() time.Duration { return g.pausedUntil }

// ClosedUntil is the earliest time of the next send by what the service said: after the pause for all, or
// when the quota comes back that is used up for longer than that.
func (g *Gate) ClosedUntil() (until time.Duration, used *QuotaState) {
	if g.told != nil {
		if q, ok := g.told.UsedUp(g.now); ok && q.Until > g.pausedUntil {
			return q.Until, (*QuotaState)(&q)
		}
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
	return g.seen(now) >= g.due() && g.Open()
}

// spaces reports whether the law spaces its sends and one may fly, so that the gap alone sets the rate.
func (g *Gate) spaces() bool {
	return g.Window.Gap() > 0 && (g.State().Cwnd <= window.MinWindow || g.Bound == 1)
}

// due is the earliest time of the next send, if the window is open. See Timed for a further reason.
func (g *Gate) due() time.Duration {
	return max(g.pausedUntil, g.spacedUntil(), g.quotaUntil())
}

// quotaUntil is the time when the quotas let the next attempt go, 0 without quotas.
func (g *Gate) quotaUntil() time.Duration {
	if g.told == nil {
		return 0
	}
	return g.told.Due(g.now, g.Flying()-len(g.told.heads), g.waiting)
}

// spacedUntil is the end of the gap: the present gap after the last send. While refusals follow one another the
// law's gap is spread at random by half, so that clients do not stay in step, and one attempt now and then comes
// at once: the service may refuse what comes after a rest.
func (g *Gate) spacedUntil() time.Duration {
	gap := g.Window.Gap()
	if g.Streak() > 0 && g.spaces() {
		if gap >= rest && g.Streak()%restEvery == 1 {
			gap = 0
		}
		gap = time.Duration(float64(gap) * g.spread)
	}
	return g.sent + max(gap, g.apart)
}

func (g *Gate) send() window.Ticket {
	if g.Gap() == 0 {
		g.sent = g.now
	} else {
		g.space()
	}
	t := g.Sent(g.now)
	g.last = t.ID()
	if g.told != nil {
		g.told.Sent(g.now, g.last)
	}
	return t
}

// space notes a send that the next gap counts from: the time it was due, if only the timer made it late, or the
// window at a law that catches up. If the queue was empty, that would be a credit, and a burst.
func (g *Gate) space() {
	due := g.now
	if g.delayed {
		due = max(g.spacedUntil(), g.now-max(lateness, g.catchUp()))
	}
	g.sent = due
	g.spread = 1
	if g.spaces() {
		g.spread = g.jitter()
	}
}

// catchUp is how late the window may make a send without delaying those after it; 0 unless the law catches up, or
// if there is a greatest rate.
func (g *Gate) catchUp() time.Duration {
	if s := g.State(); s.Pace == window.CatchUp && g.apart == 0 {
		return s.Trip
	}
	return 0
}

func (g *Gate) jitter() float64 { return 0.5 + g.rules.Rand.Float64() }

// pause is the shortest pause doubled n times, at most the longest, times a random number from 0.5 to 1.5, so
// that clients that stopped together do not start together ("Jitter Everything!", Safe Client Behaviour).
func (g *Gate) pause(n int) time.Duration {
	lo, hi := g.rules.PauseMin, g.rules.PauseMax
	if hi < 0 {
		return 0
	}
	d := hi
	if lo < hi>>min(n, 62) { // no overflow
		d = lo << n
	}
	return time.Duration(float64(d) * g.jitter())
}
