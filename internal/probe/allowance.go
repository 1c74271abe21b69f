package probe

import "github.com/aimd-go/aimd/window"

// allowance is rule 1: some refusals are no load.
type allowance struct {
	// share are the refusals for each success without load, and allowed those that may follow now.
	share, allowed float64
	// proved are the most in flight since the last load, at a success or before the first load.
	proved float64
	// fresh: there was no load yet. asked: the last refusal asked for time, and less than half of the window flew.
	fresh, asked bool
}

// most is the most that is saved: a few and, of a sample or of a quarter of a large window, the share.
func (l *law) most(w float64) float64 { return l.few + max(l.sample, w/4)*min(1, l.share) }

// earn is a success. Operations that were asked for time wait in no slot, so the window shows no share.
func (l *law) earn(w float64, a window.End) {
	l.proves(w, a)
	earned := l.share
	switch {
	case l.asked:
		earned = l.least
	case l.fresh && l.lost == 0:
		earned = 0
	}
	l.allowed = min(l.most(w), l.allowed+l.more*earned)
}

// proves notes how many fly. Before the first load each that was not in flight before may be refused, while twice as many fly as
// were refused: refusals come sooner than successes. A client of a crowd has few in flight.
func (l *law) proves(w float64, a window.End) {
	flying := float64(a.Flying)
	if l.fresh {
		if flying = min(flying, l.most(w)-l.few); flying >= 2*l.lost {
			l.allowed += max(0, flying-l.proved)
		}
	}
	l.proved = max(l.proved, flying)
}

// spend is a refusal. It reports whether it was allowed. Without a share of the service's own, and below one attempt a second, one
// more than was taken is not, past the ceiling: of streams that last for minutes three such refusals may bring a ban.
func (l *law) spend(w float64, a window.End) bool {
	if l.share <= l.least && w < l.trip && w > l.ceiling && float64(a.Flying) > l.proved {
		return false
	}
	if l.fresh {
		l.proves(w, a)
	}
	if l.allowed--; l.allowed < 0 {
		return false
	}
	if l.cause = own; l.fresh {
		l.cause = chance
	}
	return true
}

// spent is load: nothing is left.
func (l *law) spent() {
	if l.allowed, l.proved = 0, 0; l.fresh {
		l.fresh, l.share = false, l.least
	}
}
