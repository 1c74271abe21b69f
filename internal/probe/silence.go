package probe

import (
	"math"

	"github.com/aimd-go/aimd/window"
)

// silence is a run of refusals without a success between them.
type silence struct {
	// inRow are the refusals since the last success. quiet is the time of the first of these sends, and before the
	// number taken in a round trip before them.
	inRow, quiet, before float64
	// began is when the last silence ended, taken and missed are the successes and refusals since then. record and longest are the
	// most that was taken between two silences, and the longest time; +Inf if the service goes up and down.
	began, taken, missed, record, longest float64
	// lasts is the mean number of round trips that a silence lasts.
	lasts float64
	// pace is the most that was taken a second between silences since it last fell to less than half. metered: time is the
	// limit.
	pace    float64
	metered bool
}

// quieter is one more refusal.
func (l *law) quieter(now, w float64, a window.End) {
	if l.inRow++; l.inRow == 1 {
		l.quiet = max(l.succeeded, now-seconds(a.RTT))
		l.before = max(l.before, min(w, l.good(l.succeeded)))
	}
}

// returned is rule 8: the window at the first success after a silence.
func (l *law) returned(now, w float64) float64 {
	if l.inRow == 0 {
		return w
	}
	silence, lasts := now-l.quiet, 0.
	if l.inRow > l.few {
		lasts = min(60, silence/l.trip)
	}
	l.lasts += (lasts - l.lasts) / 4
	if silence <= l.trip || l.inRow <= l.few && !l.metered {
		if l.missed += l.inRow; l.loaded(l.taken, l.missed) && now-l.began > 2*l.trip { // what was taken before is gone
			l.before = min(l.before, w)
		}
		return w
	}
	l.cause = back
	if l.meters(now) {
		w = l.usedUp(now, w, silence)
	}
	if l.began, l.taken, l.missed = now, 0, 0; l.metered {
		return w
	}
	l.ceiling = max(l.ceiling, l.before)
	if w < l.before/2 {
		w = max(w, min(l.initial, l.before/l.fall))
		if silence > 2*l.span() { // an outage was, and the window is lifted to all of it
			l.rate = l.before / l.trip
		}
	}
	return w
}

// usedUp is rule 9: a silence that lasts longer than the acceptance before it was a limit that was used up.
func (l *law) usedUp(now, w, silence float64) float64 {
	took := l.succeeded - l.began + l.trip
	switch {
	case silence <= max(l.short, l.more*took) || l.taken <= 0:
	case l.taken*l.more < l.record && took <= l.longest: // a lower rate is not accepted for longer: it goes up and down
		l.record, l.longest = math.Inf(1), math.Inf(1)
	default:
		l.record, l.longest = max(l.record, l.taken), max(l.longest, took)
		l.before = min(l.before, math.Sqrt(l.before*l.trip*l.taken/(now-l.began)))
		w = min(w, l.before)
		l.ceiling, l.held, l.best, l.cause = 0, 0, w, usedUp
	}
	return w
}

// meters is rule 10. It reports whether as much is taken a second as before. If it is a few at a time, whatever is sent, time is
// the limit. Less than half is taken in an outage, and where less is sent: then the limit is no time.
func (l *law) meters(now float64) bool {
	rate := l.taken / (now - l.began)
	if 2*rate < l.pace {
		l.pace, l.metered = rate, false
		return false
	}
	l.metered = l.metered || l.pace > 0 && l.taken <= l.few && l.accepted >= l.sample/2
	l.pace = max(l.pace, rate)
	return true
}
