package aimd

import "math"

// chance tells refusals that the window causes from those that come at random, whatever
// the load: a law that takes each for the end of the capacity ends where its growth makes
// up for them, at a window of 4 with 1% of them and answers of 20 ms.
//
// It tries: after so many bursts of refusals, slow start begins anew, and the share that was
// refused until then is no reason to cut. At the end of the capacity more is refused at once,
// and the trial is over. Where twice as much is taken and no more refused, that share is chance,
// and kept: more is a reason to cut then, but no end of it. Few answers tell no share, and
// each refusal counts.
type chance struct {
	// bursts of refusals since the last trial began, or since more was refused than chance
	// may, and the answers and refusals since then.
	bursts, answers, refusals float64
	// share of the answers is what chance refuses; 0: none that is known.
	share float64
	// before is the window before the trial that goes on; 0: none does. Where the window
	// cannot double, for want of work or by its Max, the trial goes on until it fails.
	before float64
}

// byChance notes a refusal, the first of a burst or another one, and tells whether it is no
// reason to cut w, or begins a trial. good is what is accepted in a round trip.
func (p *probe) byChance(w, good float64, first bool) bool {
	c := &p.chance
	p.lost[1]++
	c.answers++
	c.refusals++
	lost := p.lost[0] + p.lost[1]
	of := lost + p.accepted[0] + p.accepted[1]
	if of < float64(p.batch) {
		return false
	}
	if lost > most(p.noise, of) {
		*c = chance{}
		return false
	}
	if good >= 2*c.before {
		c.before = 0
	}
	if lost <= most(c.share, of) {
		return true
	}
	if c.before > 0 {
		c.share, c.before = 0, 0
	}
	if first {
		c.bursts++
	}
	if c.bursts < p.trial {
		return false
	}
	*c = chance{share: c.refusals / c.answers, before: w}
	p.top = math.Inf(1)
	return true
}

// most is how many of that many answers chance refuses at most, some time in forty aside:
// the mean and two standard deviations of what is rare.
func most(share, of float64) float64 { return share*of + 2*math.Sqrt(share*of) }
