package limiter

import (
	"time"

	"github.com/aimd-go/aimd/internal/delay"
	"github.com/aimd-go/aimd/window"
)

const (
	// blockAfter is the number of successes from which a run of 403 may be a block: a client that was never
	// permitted has fewer. Our choice.
	blockAfter = 50
	// blockRun is the shortest run that is taken for a block, and blockRunMost the longest that may be needed. All
	// of it but the last are lost. Our choice: with 5, a client that may not read half of all paused for 3 minutes in
	// some orders. If half of all may not be read, 40 in a row are one in 10^12.
	blockRun, blockRunMost = 10, 40
	// blockPauses is the most pauses in a run: of 1, 2 and 4 minutes, longer than the 5 minutes for which AWS WAF
	// counts by default. A run that lasts longer is no block, so a key that was withdrawn fails then.
	blockPauses = 3
)

// block tells a block from single refusals. A firewall answers all requests of a client that it blocks with 403,
// as AWS WAF does by default; so do services that refuse one object, and after a key was withdrawn.
type block struct {
	successes uint64
	// run is the number of 403 since the latest success that was sent after one of them, longest the longest
	// run that a success ended without a pause: runs of that length belong to the work.
	run, longest int
	// first is the lowest number of an attempt in the run, last the highest.
	first, last uint64
	// pauses is the number of pauses in the run, and until the end of the latest, 0 before the first; spent: they
	// did not help, so a 403 is final from then on.
	pauses int
	until  time.Duration
	spent  bool
}

// succeeded notes a success. One that was sent before the run, or comes during a pause, says nothing of a block: a
// firewall refuses more quickly than the service does the work.
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

// refused notes a 403, and reports whether the run is that of a block: it is long enough, and of what was sent since
// it began four fifths are refused already. Where single objects are refused, what is permitted takes its time.
func (b *block) refused(t window.Ticket) bool {
	if b.run == 0 {
		b.first = t.ID()
	}
	b.run, b.first, b.last = b.run+1, min(b.first, t.ID()), max(b.last, t.ID())
	return b.run >= b.needed() && (b.pauses > 0 || 5*uint64(b.run) >= 4*(b.last-b.first+1))
}

// needed is the run from which 403 is a block.
func (b *block) needed() int { return min(max(blockRun, 2*b.longest), blockRunMost) }

// Denied notes a 403, before Answered, and reports whether it is taken for a block: then the operation may be
// tried again. begun: a pause for all begins with it, of a minute, doubled after each pause in the run. again:
// the operation was refused before. If others passed meanwhile, the service refuses that one object: the pause
// was a mistake, and the last one.
func (g *Gate) Denied(now time.Duration, t window.Ticket, again bool) (blocked, begun bool) {
	b := &g.block
	if g.seen(now) < b.until {
		return true, false
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
	asked := delay.Asked{Stop: true, Refusals: b.pauses}
	b.until = g.now + asked.Jittered(g.rules.MaxRetryAfter, g.rules.Rand)
	g.pausedUntil = max(g.pausedUntil, b.until)
	return true, true
}

// Doubted ends the pause of a block for an operation that cannot wait so long, and reports whether there was one.
// That it is a block is a guess, so it turns no operation away: the next answer decides.
func (g *Gate) Doubted(now time.Duration) bool {
	if g.seen(now) >= g.block.until || g.pausedUntil > g.block.until {
		return false
	}
	g.block.until, g.pausedUntil = g.now, g.now
	return true
}
