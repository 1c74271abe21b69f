package probe

import (
	"math"

	"github.com/aimd-go/aimd/window"
)

// slowness is rule 5: growth must pay.
type slowness struct {
	block block
	// shortest is the shortest mean round trip of a block, of each kind, and quickest that by Little's law, 0: there was none.
	// slow: both of the last block were clearly longer. found: the ceiling is of a look.
	shortest    [2]float64
	quickest    float64
	slow, found bool
	// from is the window before a look, 0: there is none. flew is the number in flight in the last block, took its
	// rate; looked is the time of the last look, and next the time of the next.
	from, flew, took, looked, next float64
}

// block counts answers without load or timeout from a time on, with the attempts that were in flight and the round trips.
type block struct {
	began, answers, flying, trips float64
	// urgent and hurried are the answers and round trips of urgent operations.
	urgent, hurried float64
	// refused: an allowed refusal was among them.
	refused bool
}

// kind is the kind with most of the answers, 1 for urgent ones, with its answers and round trips. The work of urgent operations
// may be shorter: a batch of which fewer are among the answers is not slow.
func (b *block) kind() (kind int, answers, trips float64) {
	if 2*b.urgent > b.answers {
		return 1, b.urgent, b.hurried
	}
	return 0, b.answers - b.urgent, b.trips - b.hurried
}

// count counts an answer, and reports whether the block is full: it has so many answers, most of
// the attempts in flight, and lasted for a round trip. If all that fly are answered at once, a
// shorter block would show no rate.
func (b *block) count(now float64, a window.End, least float64) bool {
	if now < b.began {
		return false
	}
	b.answers++
	b.flying += float64(a.Flying)
	trip := seconds(a.RTT)
	if b.trips += trip; a.Urgent {
		b.urgent++
		b.hurried += trip
	}
	return b.answers >= least && 2*b.answers*b.answers >= b.flying && (now-b.began)*b.answers >= b.trips
}

func (b *block) rate(now float64) float64 { return b.answers / max(1e-9, now-b.began) }

func (l *law) looking() bool { return l.from > 0 }

// again begins a new block.
func (l *law) again(at float64) { l.block, l.slow = block{began: at}, false }

// looks is the window after a success, if a block is full.
func (l *law) looks(now, w float64, a window.End) float64 {
	if l.looking() && math.IsInf(l.block.began, 1) && float64(a.Flying-1) <= w { // only the half flies
		l.again(now)
	}
	least := l.sample
	switch {
	case l.looking():
	case !l.found && (l.block.refused || !math.IsInf(l.ceiling, 1)): // a service that refuses says itself where its limit is
		least *= 5
	case l.quickest == 0:
		least /= 2
	}
	if !l.block.count(now, a, least) {
		return w
	}
	b, tooSlow := l.block, l.slower(now)
	l.again(now)
	if l.looking() {
		return l.judged(now, w, b)
	}
	l.seen(now, b)
	l.slow, l.flew, l.took = tooSlow, b.flying/b.answers, b.rate(now)
	switch { // after an answer that is quick again, what was slow may be gone
	case l.slow && now >= l.next && l.flew > w/l.more && w >= 2 && l.more*seconds(a.RTT)*b.answers > b.trips:
		return l.halve(now, w)
	case l.found && !l.slow && w >= l.more*l.ceiling:
		l.ceiling = w * l.same
	}
	return w
}

// judged is the window after the block of a look.
func (l *law) judged(now, w float64, b block) float64 {
	if rate := b.rate(now); rate >= l.same*l.took {
		l.took, l.flew, l.ceiling = max(l.took, rate), w, w
		if l.fresh && l.lost >= l.sample { // what was refused of the whole window was load
			l.fresh, l.share = false, l.least
		}
		if w >= 2 {
			return l.halve(now, w)
		}
	} else { // by Little's law, the window that the rate before needs at the round trip of the half
		w = min(l.from, w*l.took/rate) / l.same
		l.ceiling = min(l.ceiling, w)
	}
	l.shortest, l.quickest = [2]float64{}, 0
	l.seen(now, b)
	l.found, l.from, l.next = true, 0, now+20*(now-l.looked)
	return w
}

// seen keeps the shortest round trips.
func (l *law) seen(now float64, b block) {
	shorter := func(of *float64, v float64) {
		if *of == 0 || v < *of {
			*of = v
		}
	}
	kind, answers, trips := b.kind()
	shorter(&l.shortest[kind], trips/answers)
	shorter(&l.quickest, b.flying/b.answers/b.rate(now))
}

// slower reports whether the answers of the block take longer than the shortest, and more fly than the rate needs.
func (l *law) slower(now float64) bool {
	b := &l.block // a copy would wait for what count has just written
	kind, answers, trips := b.kind()
	return l.shortest[kind] > 0 && trips > l.more*l.shortest[kind]*answers && b.flying > l.more*l.quickest*b.rate(now)*b.answers
}

// slows reports whether the answers so far of the block are slower.
func (l *law) slows(now float64) bool { return l.block.answers >= l.sample/2 && l.slower(now) }

// halve begins a look at half of the window.
func (l *law) halve(now, w float64) float64 {
	l.again(math.Inf(1))
	l.from, l.looked, l.cause = w, now, slow
	return min(w, max(2, l.flew)) / 2
}
