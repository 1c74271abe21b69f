package core

import (
	"time"

	"github.com/aimd-go/aimd/internal/delay"
)

const (
	// blockAfter is the number of successes from which a run of 403 may be a block: a client that was never
	// permitted has fewer. Our choice.
	blockAfter = 100
	// blockRun is the shortest run that is taken for a block. Those before the last of it are lost. Our choice.
	blockRun = 5
	// blockPauses is the most pauses in a run: of 1, 2 and 4 minutes, longer than the 5 minutes for which AWS WAF
	// counts by default. A run that lasts longer is no block, so a key that was withdrawn fails then.
	blockPauses = 3
)

// block tells a block from single refusals. A firewall answers all requests of a client that it blocks with 403,
// as AWS WAF does by default; so do services that refuse one object, and after a key was withdrawn.
type block struct {
	// successes is their number at the latest 403.
	successes uint64
	// run is the number of 403 since the latest success, longest the longest run that a success ended without a
	// pause: runs of that length belong to the work.
	run, longest int
	// pauses is the number of pauses in the run; spent: they did not help.
	pauses int
	spent  bool
}

// Denied notes a 403, after that many successes, and reports whether it is taken for a block: then the operation
// may be tried again. begun: a pause for all begins with it, of a minute, doubled after each pause in the run.
func (g *Gate) Denied(now time.Duration, successes uint64) (blocked, begun bool) {
	b := &g.block
	if b.successes != successes {
		if b.pauses == 0 {
			b.longest = max(b.longest, b.run)
		}
		b.successes, b.run, b.pauses = successes, 0, 0
	}
	b.run++
	if b.spent || successes < blockAfter || b.run < max(blockRun, 2*b.longest) {
		return false, false
	}
	if g.seen(now) < g.pausedUntil {
		return true, false
	}
	if b.pauses == blockPauses {
		b.spent = true
		return false, false
	}
	b.pauses++
	asked := delay.Asked{Stop: true, Refusals: b.pauses}
	g.pausedUntil = g.now + asked.Jittered(g.rules.MaxRetryAfter, g.rules.Rand)
	return true, true
}
