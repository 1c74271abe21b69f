package aimd

import (
	"math"

	"github.com/aimd-go/aimd/window"
)

// refusal is an overload or a timeout.
func (p *probe) refusal(now, w float64, a window.Answer) float64 {
	p.refused++
	if p.refused == 1 {
		if p.before = min(w, p.good(p.succeeded)); p.phase != cutting {
			p.before = max(p.before, p.held)
		}
	}
	outage := p.refused > p.batch
	if !outage && now >= p.sample.began {
		p.sample.refused++
	}
	switch {
	case p.phase == trying:
		return p.tried(now, w, outage)
	case p.phase == holding && (outage || p.full() && w >= p.more*p.held):
		p.phase, p.held = cutting, p.held*p.fall
	case p.phase == holding && p.paid():
		p.phase, p.held, p.earlier = cutting, w, p.sample.odds()
	case p.phase == holding:
		w = max(p.held, p.cut(now, w, a))
		p.ceiling = max(p.ceiling, p.held)
		return w
	// A batch more and p.small allow for chance.
	case !outage && p.own > 0 && p.sample.refused <= p.more*p.own*(p.sample.accepted+p.batch)+p.small:
		p.heed(now)
		return w
	}
	p.heed(now)
	p.held = max(p.held, min(w, float64(a.Flying)))
	low := min(w, p.held/p.fall)
	if w = p.cut(now, w, a); !outage && w < low {
		w = low
		p.phase, p.held, p.ceiling = holding, low, low
		p.open(now)
	}
	return w
}

// cut is the window after a refusal. The depth below what was taken is what growth makes up
// for in about a second.
func (p *probe) cut(now, w float64, a window.Answer) float64 {
	good := min(w, p.good(now)) - math.Sqrt(min(1, w)*min(1, p.trip))
	switch {
	case a.Ignored: // one more of the same burst
		p.ceiling = max(p.half, good, min(p.ceiling, w)-1)
		return min(w, p.ceiling)
	case p.refused > float64(a.Flying)+1:
		good = 0 // the service accepts no attempt now
	}
	before := min(1, w)
	if w = min(w, max(float64(a.Flying-1), good)); w < 1 {
		slowest := max(min(p.before*p.touch, p.trip), p.trip/p.longest)
		w = max(before/2, min(before, slowest), good)
	}
	p.ceiling, p.half = w, max(1, w/2)
	return w
}

// sample counts answers from a time on.
type sample struct{ began, accepted, refused float64 }

// open begins a new sample, a round trip from now: until then answers are to attempts that were
// sent before, and refusals are the quicker ones.
func (p *probe) open(now float64) { p.sample = sample{began: now + p.trip} }

func (s sample) odds() float64 { return s.refused / max(1, s.accepted) }

// full reports whether the sample shows how frequent refusals are.
func (p *probe) full() bool { return p.sample.refused >= p.batch && p.sample.accepted >= p.batch }

// paid reports whether the load is the reason of the refusals: most attempts are refused or, since
// the cut, refusals became rarer by half.
func (p *probe) paid() bool {
	s := p.sample
	return s.refused > p.more*s.accepted+3 || s.refused > 1 && s.accepted >= p.batch/2 && s.odds() < p.earlier/2
}

// try begins the trial of a much larger window, after a sample at the window that is held. Three
// times a large window and three samples more show as much: a full service refuses most attempts.
func (p *probe) try(now, w float64) float64 {
	p.phase, p.held, p.own, p.ceiling = trying, w, p.sample.odds(), math.Inf(1)
	p.open(now)
	return min(p.reach*(1+p.own)*w, 3*(w+p.batch))
}

// tried ends a trial once it shows whether refusals became more frequent.
func (p *probe) tried(now, w float64, outage bool) float64 {
	s := p.sample
	expected := p.own * max(s.accepted, p.small)
	switch {
	case p.full() && s.odds() <= p.more*p.own: // they are the service's own
		p.own, p.held = min(p.own, s.odds()), w
	case outage || p.full() || s.refused > 2*expected+p.small:
		w, p.earlier = min(w, p.held), p.own
		p.own, p.held, p.ceiling, p.half = 0, w, w, w
	default:
		return w
	}
	p.phase = cutting
	p.open(now)
	return w
}

// heed lowers the service's own share of refusals if a sample shows that it fell.
func (p *probe) heed(now float64) {
	if !p.full() && p.own*p.sample.accepted < 2*p.batch {
		return
	}
	if odds := p.sample.odds(); odds < p.own/2 {
		p.own = odds
	}
	p.open(now)
}
