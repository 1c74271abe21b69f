package probe

import "math"

// hold is rule 3: a window that fell far is held until the service's own share is measured.
type hold struct {
	// held is the held window, 0: none. best is the most that was taken. shown is the window that showed the share.
	held, best, shown float64
	// accepted and lost are the answers from the time opens on: those before are to attempts that were sent before.
	accepted, lost, opens float64
}

func (h *hold) sampled(now, refused float64) {
	if now >= h.opens {
		h.accepted += 1 - refused
		h.lost += refused
	}
}

// holdAt begins a hold.
func (l *law) holdAt(now, w float64) float64 {
	l.held, l.ceiling = w, w
	l.accepted, l.lost, l.opens = 0, 0, now+l.trip
	return w
}

// holds reports whether a refusal meets a hold that goes on.
func (l *law) holds() bool {
	if l.held > 0 && l.loaded(l.accepted, l.lost) {
		l.held, l.best = 0, l.held
	}
	return l.held > 0
}

// loaded reports whether answers show load: more than twice as many are refused as accepted, and ten more.
func (l *law) loaded(accepted, refused float64) bool { return refused > 2*accepted+l.sample/2 }

// measured ends a hold that has its sample.
func (l *law) measured(w float64) {
	if l.accepted < l.sample || l.lost < l.sample {
		return
	}
	if w < l.more*l.held {
		l.share, l.ceiling = max(l.least, l.lost/l.accepted), math.Inf(1)
		l.allowed, l.shown, l.cause = l.most(w), w, own
	}
	l.held, l.best = 0, w
}

// low is the window at which to hold one that load cuts from w, or 0. The best is at the first load twice what was taken since
// the start: the accepted rate is a mean over half a second, which is too long there.
func (l *law) low(now, w float64) float64 {
	if l.best == 0 && l.accepted > 0 {
		l.best = min(w, 2*l.trip*l.accepted/(now-l.start))
	}
	l.best = max(l.best, min(w, l.good(now)))
	if low := min(w, l.best/l.fall); low >= l.slowest*min(1, l.trip) {
		return low
	}
	return 0
}

// refute forgets a share if load left less than the window that showed it: that was load.
func (l *law) refute(w float64) {
	if w < l.shown {
		l.share, l.shown = l.least, 0
	}
}
