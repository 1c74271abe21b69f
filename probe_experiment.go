package aimd

// phase is what the experiment does.
type phase uint8

const (
	cutting phase = iota // none: each refusal cuts
	holding              // cuts go no lower than the held window, while a sample is taken there
	trying               // the window is many times as large, while a sample is taken there
)

func (f phase) String() string { return [...]string{"", "holding", "trying"}[f] }

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
	// earlier are the refusals for each success at the window that was held before, 0 if none was.
	earlier float64
	// own are the refusals for each success that are the service's own, 0 if none are known.
	own float64
	// sample counts the answers since the window was as it is.
	sample sample
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
	return s.refused > e.more*s.accepted+3 && s.odds() > e.more*e.earlier || s.refused > 1 && s.accepted >= e.batch/2 && s.odds() < e.earlier/2
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
	e.open(trying, now+trip)
	return min(e.reach*(1+e.own)*w, 3*(w+e.batch))
}

// tried reports whether a trial is over: it shows whether refusals became more frequent, and the service is full.
func (e *experiment) tried(w, inRow float64) (over, full bool) {
	s := e.sample
	switch {
	case e.full() && s.odds() <= e.more*e.own: // they are the service's own
		e.held = w
		return true, false
	case e.full() || inRow > max(e.batch, w/2) || s.refused > 2*e.own*max(s.accepted, e.few)+e.few:
		e.earlier, e.own = e.own, 0
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
	if e.full() || e.own*e.sample.accepted >= 2*e.batch {
		e.own = min(e.own, max(e.own/2, e.more*e.sample.odds()))
		e.open(cutting, next)
	}
}
