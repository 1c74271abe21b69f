package probe

import (
	"math"

	"github.com/aimd-go/aimd/window"
)

// cut is rule 2: load leaves what was taken. A slow window is cut deeper, by what growth makes up for in a second.
func (l *law) cut(now, w float64, a window.End) float64 {
	good := min(w, l.good(now)) - math.Sqrt(min(1, w)*min(1, l.trip))
	if a.Ignored { // one more of the same burst
		l.ceiling = max(1, good, w-1)
		return min(w, l.ceiling)
	}
	before := min(1, w)
	if w = min(w, max(float64(a.Flying-1), good)); w < 1 {
		w = max(l.floor(before), good)
	}
	l.ceiling, l.found = w, false
	return w
}

// grown is rule 4: the window after one more success. With all that fly, it is the window a round trip later.
func (l *law) grown(w float64) float64 {
	if l.metered = l.metered && w < 1; l.metered {
		return min(1, w+w/20)
	}
	past := l.growth * (w - l.ceiling - 0.5/l.peers)
	if l.lasts > l.fall { // as at a limit of requests a second that counts refused ones
		past *= min(1, 2*l.trip)
	}
	// Clients of a crowd have windows of one or two: more than 2/9 with each success would be refused.
	grown := w + min(1, max(l.growth/l.peers*min(1, l.trip, max(1, w)/3), l.ceiling-w, past)/max(1, w))
	if l.found { // so far past a ceiling that a look found that the next block shows whether it pays
		grown = max(w, min(grown, l.more*l.ceiling+l.fall))
	}
	return grown
}

// lifted is the window if it is less than half of the load taken, by Little's law. While answers are slow a look shows that: the
// round trip rises before the rate falls, so their product lifts too far. A window below two is too little for a look.
func (l *law) lifted(now, w float64) float64 {
	if good := l.trip * l.rate; w < good/2 && !l.looking() && (w < 2 || !l.slows(now)) {
		w, l.ceiling = good, max(l.ceiling, good)
	}
	return w
}

// spacing is rule 6: from the first load on, sends are spaced over the round trip.
func (l *law) spacing(w float64) window.Pace {
	switch {
	case w >= 1 && (l.looking() || l.share >= 1 && math.IsInf(l.ceiling, 1)):
		return window.AtOnce
	case l.early > 0.2:
		return window.Spaced
	}
	return window.CatchUp
}

// noteEarly keeps the share of refusals among the attempts that were sent early.
func (l *law) noteEarly(a window.End) {
	refused := 1.
	if a.Outcome.Accepted() {
		refused = 0
		if l.early > 1e-300 { // a number below 2^-1022 costs a processor a hundred cycles
			l.early -= l.early * l.forget / float64(a.Flying)
		}
	}
	if a.Early {
		l.early += (refused - l.early) / max(2, min(2*l.sample, float64(a.Flying)))
	}
}

// floor is rule 7: below one, each burst halves the window, down to a little of the load taken
// before a silence. From there each refusal takes a part. The first refusals in a row leave ten a
// second, unless time is the limit.
func (l *law) floor(w float64) float64 {
	least := max(w/2, min(w*(1-l.silent), l.before/l.fall))
	if l.inRow <= l.few && !l.metered {
		least = max(least, min(w, l.slowest*l.trip))
	}
	return least
}
