package probe

import "math"

// hold is rule 3: a window that fell far is held until the service's own share is measured.
type hold struct {
	// held is the held window, 0: none. best is the most that was taken of late. shown is the window that showed the share.
	held, best, shown float64
	// accepted and lost are the answers from the time opens on: those before are to attempts that were sent before.
	accepted, lost, opens float64
	// holding is when the hold began, and born when that of the share did; due is when the share is checked. checks: the hold is
	// such a check. company: a check found a share to be the load of others, so nothing is held by load any more.
	holding, born, due float64
	checks, company    bool
}

func (h *hold) sampled(now, refused float64) {
	if now >= h.opens {
		h.accepted += 1 - refused
		h.lost += refused
	}
}

// holdAt begins a hold.
func (l *law) holdAt(now, w float64) float64 {
	l.held, l.ceiling, l.holding, l.checks = w, w, now, false
	l.accepted, l.lost, l.opens = 0, 0, now+l.trip
	return w
}

// holds reports whether a refusal meets a hold that goes on.
func (l *law) holds() bool {
	if l.held > 0 && l.loaded(l.accepted, l.lost) {
		if l.held, l.best = 0, l.held; l.checks {
			l.share, l.shown = l.least, 0
		}
	}
	return l.held > 0
}

// loaded reports whether answers show load: more than twice as many are refused as accepted, and ten more.
func (l *law) loaded(accepted, refused float64) bool { return refused > 2*accepted+l.sample/2 }

// checked begins a hold at a sixth of the window when the age of a share has doubled. With the others of a company the
// share falls then, until they have taken what is free.
func (l *law) checked(now, w, since float64) float64 {
	l.best -= l.best * min(1, since/l.fade)
	if l.fresh || l.share <= l.least || now < l.due {
		return w
	}
	w = l.holdAt(now, max(w, l.good(now))/l.fall)
	l.rate, l.checks, l.cause = min(l.rate, w/l.trip), true, own
	return w
}

// measured ends a hold that has its sample.
func (l *law) measured(now, w float64) {
	// One standard deviation more: with less than its own, what a service refuses by chance would be load again and again.
	share := (l.lost + math.Sqrt(l.lost)) / max(1, l.accepted)
	switch expected := l.accepted * l.share / (1 + 1/math.Sqrt(l.sample)); {
	case l.checks && max(l.lost, expected) < l.sample, !l.checks && min(l.lost, l.accepted) < l.sample:
		return
	case l.checks && l.lost < l.sample/2:
		l.company, l.share, l.shown = true, l.least, 0
	case l.checks:
		l.owned(now, w, (l.share+share)/2)
	case w < l.more*l.held:
		l.born = l.holding
		l.owned(now, w, share)
	}
	l.held, l.best = 0, w
}

// owned is a share of the service's own.
func (l *law) owned(now, w, share float64) {
	l.share, l.due, l.ceiling, l.cause = max(l.least, share), now+(now-l.born), math.Inf(1), own
	l.allowed, l.shown = l.most(w), w
}

// low is the window at which to hold one that load cuts from w, or 0. The best is at the first load twice what was taken since
// the start: the accepted rate is a mean over half a second, which is too long there.
func (l *law) low(now, w float64) float64 {
	if l.best == 0 && l.accepted > 0 {
		l.best = min(w, 2*l.trip*l.accepted/(now-l.start))
	}
	l.best = max(l.best, min(w, l.good(now)))
	if low := min(w, l.best/l.fall); low >= l.slowest*min(1, l.trip) && !l.company {
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
