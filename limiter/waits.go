package limiter

import (
	"time"

	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/window"
)

// patience is the number of overloads in a row after which an operation backs off. It is also the number of cuts in
// a row from which a Retry-After pauses all operations. Our choice: with less, operations that lose their place in
// an ordinary overshoot back off (TestRetryAfterOfASmoothRateCap in internal/sim).
const patience = 5

// Waits returns for how long an operation waits, without a slot, before it rejoins the queue: for the longer of its
// backoff, the backoffs-th in a row, and of the Retry-After that is obeyed, with jitter. With stop, all wait for that.
// failures is the number of its failures in a row, and last the outcome of the latest. After overloads the backoffs
// begin with the sixth: until then the window paces the operation, except in shadow. r is its run, or nil: the waits of
// one that fails by itself, and that nobody waits for, double until it has failed for Settings.MaxRetryAfter.
func (g *Gate) Waits(failures int, last window.Outcome, retryAfter time.Duration, stop bool, r *Run) (backoffs int, backoff, obeyed time.Duration) {
	if backoffs = failures; last.Overloaded() && !g.rules.Shadow {
		backoffs = max(0, failures-patience)
	}
	switch {
	case r != nil && r.Patient && r.finals > 0 && g.rules.PauseMax >= 0:
		backoff = g.doubled(failures-1, g.rules.MaxRetryAfter)
		if left := r.since + g.rules.MaxRetryAfter - g.now; left > 0 { // the last attempt
			backoff = min(backoff, left)
		}
	case backoffs > 0:
		backoff = g.pause(backoffs - 1)
	}
	return backoffs, backoff, g.obeyed(retryAfter, stop)
}

// obeyed is the time for which a refused operation waits for the service, with jitter; with stop, for which all wait.
func (g *Gate) obeyed(retryAfter time.Duration, stop bool) time.Duration {
	return g.asked(retryAfter, stop).Jittered(g.rules.MaxRetryAfter, g.rules.Rand)
}

func (g *Gate) asked(retryAfter time.Duration, stop bool) quota.Asked {
	return quota.Asked{After: retryAfter, Stop: stop, Refusals: g.Streak()}
}

func (g *Gate) jitter() float64 { return 0.5 + g.rules.Rand.Float64() }

// pause is the shortest pause doubled n times, at most the longest, times U(0.5, 1.5). So clients that stopped
// together do not start together ("Jitter Everything!", Safe Client Behaviour).
func (g *Gate) pause(n int) time.Duration {
	if g.rules.PauseMax < 0 {
		return 0
	}
	return g.doubled(n, g.rules.PauseMax)
}

func (g *Gate) doubled(n int, hi time.Duration) time.Duration {
	lo, d := g.rules.PauseMin, hi
	if lo < hi>>min(n, 62) { // no overflow
		d = lo << n
	}
	return time.Duration(float64(d) * g.jitter())
}
