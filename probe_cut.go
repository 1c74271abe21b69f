package aimd

import (
	"math"

	"github.com/aimd-go/aimd/window"
)

// refusal is an overload or a timeout.
func (p *probe) refusal(now, w, rtt float64, a window.Answer) float64 {
	p.refused++
	if p.refused <= p.batch && now >= p.sample.began { // more in a row are an outage
		p.sample.refused++
	}
	switch back, judged := p.judge(now, w); {
	case judged:
		return back
	case p.refused <= p.batch && (p.trial || p.isOwn()):
		return w
	case w <= 1 && p.refused == 1 && now-rtt-p.succeeded > 2*p.trip/w:
		return w // after a rest
	case p.refused == 1:
		p.before = min(w, p.good(p.succeeded))
	}
	w = p.cut(now, w, a)
	if low := 1.05 * p.third(); !p.trial && w <= low && p.sample.opened > low {
		p.old.odds = p.sample.odds()
		p.open(now, min(w, float64(a.Flying)))
	}
	return w
}

// third is the window down to which cuts need no check.
func (p *probe) third() float64 { return p.old.window / p.fall }

// isOwn reports whether the refusals of this sample are no more than the service's own share
// brings: the mean, and two standard deviations of what is rare.
func (p *probe) isOwn() bool {
	mean := p.own * p.sample.accepted
	return p.own > 0 && p.sample.refused <= p.more*mean+2*math.Sqrt(mean+1)
}

// cut is the window after a refusal. The depth below what was taken is what growth makes up
// for in about a second.
func (p *probe) cut(now, w float64, a window.Answer) float64 {
	p.paced = true
	least := 0.
	if s := p.sample; p.third() >= p.small && w >= p.third() && p.refused <= p.batch && s.refused <= p.more*min(s.accepted, p.batch)+2 {
		least = p.third() // until a sample is judged there
	}
	good := min(w, p.good(now)) - math.Sqrt(min(1, w)*min(1, p.trip))
	switch {
	case a.Ignored && w < 1:
		return w
	case a.Ignored: // one more of the same burst
		p.ceiling = max(p.half, least, good, min(p.ceiling, w)-1)
		return min(w, p.ceiling)
	case p.refused > float64(a.Flying)+1:
		good = 0 // nothing is accepted any more
	}
	before := min(1, w)
	if w = min(w, max(float64(a.Flying-1), good)); w < 1 {
		slowest := max(min(p.before*p.touch, p.trip), p.trip/p.longest)
		w = max(before/2, min(before, slowest), good)
	}
	w = max(w, least)
	p.ceiling, p.half = w, max(1, w/2)
	return w
}

// open begins a new sample, a round trip from now: until then answers are to attempts that were
// sent before, and refusals are the quicker ones.
func (p *probe) open(now, w float64) { p.sample = sample{opened: w, began: now + p.trip} }

func (s sample) odds() float64 { return s.refused / max(1, s.accepted) }

// judge compares a full sample with the old one, and reports whether that decides the window.
func (p *probe) judge(now, w float64) (float64, bool) {
	s := p.sample
	full := s.refused >= p.batch && s.accepted >= p.batch || p.own*s.accepted > 2*p.batch
	if !full || now-s.began < p.trip {
		return w, false
	}
	is := result{window: s.opened, odds: s.odds(), rate: s.accepted / (now - s.began)}
	was, judged := p.old, false
	steady := w < 2*s.opened && w > s.opened/2
	switch {
	case p.trial && (is.odds > p.more*p.own || is.rate < p.more*was.rate): // it did not pay
		w, judged = min(w, was.window), true
		p.own, p.trial, p.ceiling = 0, false, w
	case p.trial:
		p.trial, p.ceiling, p.old = false, math.Inf(1), is
	case s.opened >= 0.99*p.small && s.opened <= 1.05*p.third() && steady && is.odds >= was.odds/2 && is.odds <= p.more:
		is.window, w, judged = w, was.window, true // the cuts did not pay
		p.old, p.own, p.trial, p.ceiling = is, is.odds, true, math.Inf(1)
	case is.window > was.window || is.odds > 2*was.odds || is.odds < was.odds/2:
		p.old = is
	}
	if !p.trial && !judged {
		switch {
		case is.odds > p.fall*p.own:
			p.own = 0
		case is.odds < p.own/2:
			p.own = is.odds
		}
	}
	p.open(now, w)
	return w, judged
}
