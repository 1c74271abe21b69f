package limiter

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// spacing is the send from which the gap before the next one counts.
type spacing struct {
	// last is the last send, if there is a gap: the time it was due, if only the timer was late. before is the spaced
	// send before it.
	last, before time.Duration
	// late: the next send is late. The operation at the front had to wait for the timer of the gap or, if the law
	// catches up, for the window.
	late bool
	// spread is the factor of the next gap.
	spread float64
}

// lateness is the lateness of a timer that does not delay the sends after it. A timer of a busy machine is many
// milliseconds late. With 2 ms here, a store with a gap of 3 ms took a twentieth more time.
const lateness = 20 * time.Millisecond

// Timed reports whether the next event needs the time. An overload always needs it.
func (g *Gate) Timed() bool {
	return g.Window.Timed() || g.needsTime()
}

// needsTime is Timed under a law that needs none. It is apart so that the other question is inlined.
func (g *Gate) needsTime() bool {
	return g.Measured() || g.rules.Shadow || g.Starved() || g.pausedUntil > g.now || g.part.turn > g.now || g.Gap() > 0 || g.told != nil
}

// spaces reports whether the law spaces its sends and one may fly, so that the gap alone sets the rate.
func (g *Gate) spaces() bool {
	return g.Window.Gap() > 0 && (g.State().Cwnd <= window.MinWindow || g.Bound == 1)
}

// spacedUntil is the end of the gap: the present gap after the last send. While refusals follow one another, the
// law's gap is spread at random by half, so that clients do not stay in step. Some attempts are sent without their
// gap, since some services refuse the first request after a rest.
func (g *Gate) spacedUntil() time.Duration {
	gap := g.Window.Gap()
	switch refused := g.Streak() > 0 && g.spaces(); {
	case refused && g.Streak()%restEvery == 1 && (gap >= rest || g.State().Pace == window.CatchUp):
		gap = 0
	case refused:
		gap = time.Duration(float64(gap) * g.spacing.spread)
	}
	if g.fog.share > 0.5 && g.rules.PauseMax >= 0 { // nobody says that it is too much, so the end is to be seen soon
		gap = min(gap, g.rules.PauseMax)
	}
	return g.spacing.last + max(gap, g.apart)
}

// space notes the time from which the next gap counts. If only the timer made the send late, or the window under a
// law that catches up, that is the time at which the send was due. After an empty queue that would be a credit, and
// a burst.
func (g *Gate) space() {
	s, due := &g.spacing, g.now
	if g.Gap() == 0 {
		s.last = due
		return
	}
	if s.late {
		due = max(g.spacedUntil(), g.now-max(lateness, g.catchUp()))
	}
	s.before, s.last, s.spread = s.last, due, 1
	if g.spaces() {
		s.spread = g.jitter()
	}
}

// refund gives the gap of a refused attempt back, if no other was sent since and a small window is full without it: the next
// answer lets an attempt go. Else a client with one slot takes 1.9 times the optimum, and 1.1 with it.
func (g *Gate) refund(t window.Ticket) {
	if t.ID() == g.last && !g.Open() && g.State().Cwnd < small && g.apart == 0 {
		g.spacing.last = g.spacing.before
	}
}

// catchUp is the lateness of a send, by the window, that does not delay the sends after it. It is 0 unless the law
// catches up, and 0 under a MaxRate or MaxAmountRate.
func (g *Gate) catchUp() time.Duration {
	if s := g.State(); s.Pace == window.CatchUp && g.apart == 0 {
		return s.Trip
	}
	return 0
}
