package aimd

import (
	"github.com/aimd-go/aimd/window"
)

// phase is what the experiment does.
type phase uint8

const (
	cutting phase = iota // none: each refusal cuts
	holding              // cuts go no lower than the held window, while a sample is taken there
	trying               // the window is many times as large, while a sample is taken there
	looking              // the window is half, to see whether the growth to it has paid
)

func (f phase) String() string { return [...]string{"", "holding", "trying", "looking"}[f] }

// experiment finds out whether the load is the reason of the refusals.
//
//	         refusals           fell to two fifths           the cut did not pay
//	CUTTING ----------> CUTTING ------------------> HOLDING --------------------> TRYING
//	   ^                                               |                            |
//	   +------------------ the cut paid ---------------+                            |
//	   +-- as frequent: the service's own; more frequent: full, the held window ----+
type experiment struct {
	*tuning
	phase phase
	// held is the window to which the law holds, or from which it tries. While each refusal cuts, it is
	// the largest window since the last sample that decided something.
	held float64
	// deep is the factor of the fall that is held next: fall, and more after each trial that failed in a row, at most batch.
	deep float64
	// earlier are the refusals for each success at the window that was held before, 0 if none was.
	earlier float64
	// own are the refusals for each success that are the service's own, 0 if none are known.
	own float64
	// sample counts the answers since the window was as it is.
	sample sample
	// until is the earliest time of a trial's verdict.
	until float64
}

// sample counts answers from a time on: until then answers are to attempts that were sent before, and refusals are
// the quicker ones.
type sample struct{ began, accepted, refused float64 }

func (s *sample) count(now, refused float64) {
	if now >= s.began {
		s.refused += refused
		s.accepted += 1 - refused
	}
}

func (s sample) odds() float64 { return s.refused / max(1, s.accepted) }

func (e *experiment) open(f phase, at float64) { e.phase, e.sample = f, sample{began: at} }

// full reports whether the sample shows how frequent refusals are.
func (e *experiment) full() bool { return e.sample.refused >= e.batch && e.sample.accepted >= e.batch }

// paid reports whether the load is the reason of the refusals: since the cut they became rarer by half or, if
// most attempts are refused, more frequent.
func (e *experiment) paid() bool {
	s := e.sample
	rarer := s.refused > 1 && s.accepted >= e.batch/2 && s.odds() < e.earlier/2
	most := s.refused > e.more*s.accepted+3 && s.odds() > e.more*e.earlier
	return rarer || most
}

// holds reports whether a refusal goes no lower than the held window. Otherwise the hold ends here.
func (e *experiment) holds(w float64, outage bool) bool {
	switch {
	case e.phase != holding:
	case outage || e.full() && w >= e.more*e.held:
		e.phase, e.held = cutting, e.held*e.fall
	case e.paid():
		e.phase, e.held, e.earlier = cutting, w, e.sample.odds()
	}
	return e.phase == holding
}

// try begins the trial of a much larger window, after a sample at the window that is held. Three
// times a large window and three samples more show as much: a full service refuses most attempts.
func (e *experiment) try(now, w, trip float64) float64 {
	e.held, e.own = w, e.sample.odds()
	e.open(trying, now)
	e.until = now + 2*trip
	return min(e.reach*(1+e.own)*w, 3*(w+e.batch))
}

// tried reports whether a trial is over: it shows whether refusals became more frequent, and the service is full.
func (e *experiment) tried(w, inRow, now float64) (over, full bool) {
	// Refusals may come back first: as the trial fills, as many as are refused for each success are no evidence.
	s, lost := e.sample, inRow > max(e.batch, w*(1+e.own)/2)
	switch {
	case now < e.until && !lost: // refusals come back first
		return false, false
	case e.full() && s.odds() <= e.more*e.own: // they are the service's own
		e.held, e.deep = w, e.fall
		return true, false
	case e.full() || lost || s.refused > 2*e.own*max(s.accepted, e.few)+e.few:
		e.earlier, e.own = e.own, 0
		e.deep = min(e.deep/e.stays, e.batch)
		return true, true
	}
	return false, false
}

// expected reports whether refusals are no more frequent than the service's own. A batch more and few allow for
// chance.
func (e *experiment) expected() bool {
	return e.own > 0 && e.sample.refused <= e.more*e.own*(e.sample.accepted+e.batch)+e.few
}

// heed lowers the service's own share of refusals, at most to half, if a sample shows that it fell.
func (e *experiment) heed(next float64) {
	if e.full() {
		e.own = min(e.own, max(e.own/2, e.more*e.sample.odds()))
		e.open(cutting, next)
	}
}

// look finds out whether growth has paid: whether more is accepted than with half of the window.
type look struct {
	*tuning
	block block
	// shortest is the shortest mean round trip of a block, and least the shortest by Little's law. slow reports whether
	// both of the last block were clearly longer.
	shortest, least float64
	slow            bool
	// from is the window before a look, flew what flew there, and took the rate that was accepted. next is the time of
	// the next look.
	from, flew, took, next, start float64
	found                         bool
}

// block counts answers without a refusal from a time on, with the attempts that were in flight and the round trips.
type block struct{ began, answers, flying, trips float64 }

// count counts an answer, and reports whether the block is full: it has so many answers, most of what flies, and lasted
// for a round trip. If all that fly are answered at once, a shorter block would show no rate.
func (b *block) count(now float64, a window.End, least float64) bool {
	if now < b.began {
		return false
	}
	b.answers++
	b.flying += float64(a.Flying)
	b.trips += seconds(a.RTT)
	return b.answers >= least && 2*b.answers*b.answers >= b.flying && (now-b.began)*b.answers >= b.trips
}

func (b block) rate(now float64) float64 { return b.answers / max(1e-9, now-b.began) }

// again begins a new block.
func (l *look) again(at float64) { l.block, l.slow = block{began: at}, false }

// judge judges a full block by the shortest round trips, and reports whether a look is due: a
// window of which less flies has not been tried.
func (l *look) judge(now, w float64) bool {
	b := l.block
	trip, little := b.trips/b.answers, b.flying/b.answers/b.rate(now)
	if l.shortest == 0 {
		l.shortest, l.least = trip, little
	}
	l.shortest, l.least = min(l.shortest, trip), min(l.least, little)
	l.again(now)
	l.slow, l.flew, l.took = trip > l.more*l.shortest && little > l.more*l.least, b.flying/b.answers, b.rate(now)
	return l.slow && now >= l.next && l.flew > w/l.more
}
