package limiter

import (
	"time"

	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/window"
)

const (
	// blockAfter is the number of successes from which a run of 403 may be a block: a client that was never
	// permitted has fewer. Our choice.
	blockAfter = 50
	// blockRun is the shortest run that may be a block. blockRunMost is the longest run that may be needed. All
	// operations of the run but the last are lost. Our choice: 5 is too few, since a run of 5 is likely if half of
	// the objects are forbidden. A run of 40 then has probability 2^-40.
	blockRun, blockRunMost = 10, 40
	// blockPauses is the greatest number of pauses in a run: of 1, 2 and 4 minutes, together longer than the 5
	// minutes for which AWS WAF counts by default. A longer run is no block, but a withdrawn key, for instance.
	blockPauses = 3
)

// block distinguishes a block from single refusals. A firewall answers all requests of a blocked client with 403,
// as AWS WAF does by default. A service answers 403, too, if one object is forbidden, or after a key was withdrawn.
type block struct {
	successes uint64
	// run is the number of 403 in the present run. longest is the longest run that a success ended without a pause:
	// runs of this length belong to the work.
	run, longest int
	// first is the lowest number of an attempt in the run, last the highest.
	first, last uint64
	// pauses is the number of pauses in the run. until is the end of the latest pause, 0 before the first. spent:
	// the pauses did not help, so a 403 is final from then on.
	pauses int
	until  time.Duration
	spent  bool
}

// succeeded notes a success. A success that was sent before the run, or comes during a pause, does not end the run:
// a firewall refuses faster than a service works.
func (b *block) succeeded(now time.Duration, t window.Ticket) {
	if now < b.until {
		return
	}
	if b.successes++; t.ID() < b.first {
		return
	}
	if b.pauses == 0 {
		b.longest = max(b.longest, b.run)
	}
	b.run, b.pauses, b.first, b.last = 0, 0, 0, 0
}

// refused notes a 403, and reports whether the run is a block: the run is long enough, and four fifths of the
// attempts sent since its begin are refused already. If single objects are forbidden, the permitted attempts are
// still in flight.
func (b *block) refused(t window.Ticket) bool {
	if b.run == 0 {
		b.first = t.ID()
	}
	b.run, b.first, b.last = b.run+1, min(b.first, t.ID()), max(b.last, t.ID())
	return b.run >= b.needed() && (b.pauses > 0 || 5*uint64(b.run) >= 4*(b.last-b.first+1))
}

// needed is the length of a run that is a block.
func (b *block) needed() int { return min(max(blockRun, 2*b.longest), blockRunMost) }

// Denied notes a 403, before Answered. blocked: it belongs to a block, and the operation may be tried again. begun:
// a pause for all begins, of a minute, doubled after each pause in the run. again: the operation was refused
// before. If others passed meanwhile, the service refuses that one object: the pause was a mistake, and no further
// pause begins. In shadow nothing pauses, so it is not tried again.
func (g *Gate) Denied(now time.Duration, t window.Ticket, again bool) (blocked, begun bool) {
	b := &g.block
	if g.seen(now) < b.until {
		return !g.rules.Shadow, false
	}
	if !b.refused(t) {
		b.spent = b.spent || again && b.until > 0
		return false, false
	}
	if b.spent || b.successes < blockAfter {
		return false, false
	}
	if b.pauses == blockPauses {
		b.spent = true
		return false, false
	}
	b.pauses++
	asked := quota.Asked{Stop: true, Refusals: b.pauses}
	b.until = g.now + asked.Jittered(g.rules.MaxRetryAfter, g.rules.Rand)
	g.pauses(b.until-g.now, false)
	return !g.rules.Shadow, true
}

// Doubted ends the pause of a block, and reports whether there was such a pause. Call it for an operation that
// cannot wait for the end: a block is a guess, so it turns no operation away. The next answer decides.
func (g *Gate) Doubted(now time.Duration) bool {
	if g.seen(now) >= g.block.until || g.pausedUntil > g.block.until {
		return false
	}
	g.block.until, g.pausedUntil = g.now, g.now
	return true
}
