package aimd

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Probe is the law that needs no factor.
func Probe(s window.Settings) window.Law {
	return &probe{initial: s.Initial, min: s.Min, max: s.Max, top: math.Inf(1), pulse: newPulse()}
}

const (
	share   = 0.5
	burst   = 1.5
	unit    = 1.0
	full    = 0.9
	grain   = 1e-4
	longest = 15.0
	outage  = 2.0
	touch   = 60
	slack   = 0.8
	slackAt = 4
)

type probe struct {
	initial, min, max float64
	trip              float64
	top, least        float64
	served            float64
	clean, silent     int
	refused           bool
	cut, ok           float64
	from, accepted    [2]float64
	pulse             pulse
}

func (p *probe) Timed() bool { return true }

func (p *probe) Answered(at time.Duration, s window.State, a window.Answer) window.State {
	now, rtt := at.Seconds(), max(a.RTT, time.Microsecond).Seconds()
	if p.trip == 0 {
		p.begin(now, rtt, s)
	}
	w := s.Cwnd
	if s.Gap > 0 {
		w = min(w, p.trip/s.Gap.Seconds())
	}
	switch {
	case a.Outcome.Accepted():
		w = p.success(now, w, rtt, a)
	case a.Outcome.Overloaded():
		w = p.refusal(now, w, rtt, a)
	default:
		return s
	}
	return p.state(now, w)
}

func (p *probe) begin(now, rtt float64, s window.State) {
	p.trip, p.ok, p.from = rtt, now, [2]float64{now, now}
	p.refused = s.Gap > 0
	if s.Ssthresh != window.DefaultSsthresh && s.Ssthresh < window.MaxWindow {
		p.top = s.Ssthresh
	}
}

func (p *probe) state(now, w float64) window.State {
	w = min(w, p.max)
	if p.min > window.MinWindow {
		w = max(w, p.min)
	}
	s := window.State{Cwnd: max(1, w), Ssthresh: min(max(1, p.top), window.MaxWindow)}
	if w < 1 || p.refused && p.trip/w > grain {
		gap := p.trip / w
		if w >= slackAt {
			r := p.goodput(now) / w
			gap *= min(1, max(slack, r*r))
		} else {
			s.Cwnd = math.Ceil(w)
		}
		s.Gap = time.Duration(min(gap, longest) * float64(time.Second))
	}
	return s
}

func (p *probe) often() float64 { return min(1, p.trip/unit) }

func (p *probe) goodput(now float64) float64 {
	return p.trip * (p.accepted[0] + p.accepted[1]) / max(unit/2, p.trip, now-p.from[0])
}

func (p *probe) refusal(now, w, rtt float64, a window.Answer) float64 {
	good := min(w, p.goodput(now)) - math.Sqrt(min(1, w)*p.often())
	flying := float64(a.Flying - 1)
	hadnone := p.clean == 0
	p.clean = 0
	if a.Ignored || w > 1 && now-p.cut < burst*p.trip {
		if w < 1 {
			return w
		}
		p.top = max(p.least, good, p.top-1)
		if !a.Ignored && rtt < p.trip/2 {
			p.top = min(p.top, max(1, flying, good))
		}
		return min(w, p.top)
	}
	if hadnone {
		p.silent++
	}
	if p.silent > 1 {
		good = 0
	}
	before := min(1, w)
	p.refused, p.cut = true, now
	w = min(w, max(flying, good))
	if w < 1 {
		w = max(before/2, min(before, max(p.served/touch*p.often(), p.trip/longest)), good)
	} else {
		p.least = max(1, w/2)
	}
	p.top = w
	return w
}

func (p *probe) success(now, w, rtt float64, a window.Answer) float64 {
	p.trip += (rtt - p.trip) * min(0.5, 1/max(1, w))
	p.clean++
	if good := min(p.goodput(now), p.served); a.Ignored {
	} else if now-p.ok > outage {
		if w <= 1 && p.served > 2 {
			p.top = p.served
			p.served /= 2
			w = min(p.initial, p.served)
		}
	} else if w < good/2 {
		w = good
		p.top = max(p.top, w)
	}
	if now-p.from[1] > max(unit/2, p.trip) {
		p.from = [2]float64{p.from[1], now}
		p.accepted = [2]float64{p.accepted[1], 0}
	}
	p.accepted[1]++
	p.ok, p.silent = now, 0
	if float64(p.clean) > max(4, p.served) {
		p.served = 0
	}
	p.served = max(p.served, float64(a.Flying))
	slow, long := p.pulse.beat(now, rtt, p.trip)
	if long {
		if w >= 1 {
			w = max(1, 0.9*w)
			p.top = w
		}
	}
	if slow {
		p.top = min(p.top, max(1, w))
	} else if float64(a.Flying+1) > full*w {
		w = p.grow(w)
	}
	return w
}

func (p *probe) grow(w float64) float64 {
	step := share * p.often()
	if w < p.top {
		step = max(step, p.top-w)
	} else if w > p.top+1 {
		step = max(step, 0.5*(w-p.top)*min(1, p.trip/(unit/2)))
	}
	return w + min(1, 3*w, step/max(1, w))
}

type pulse struct {
	base       [2]float64
	since      float64
	sum, n     float64
	began      float64
	slow, long int
}

func newPulse() pulse { return pulse{base: [2]float64{math.Inf(1), math.Inf(1)}} }

func (l *pulse) beat(now, rtt, trip float64) (slow, long bool) {
	base := min(l.base[0], l.base[1])
	if l.slow++; rtt <= 1.2*base {
		l.slow = 0
	}
	if l.long++; rtt <= 1.5*base {
		l.long = 0
	}
	if l.n == 0 {
		l.began = now
	}
	l.n++
	l.sum += rtt
	if l.n >= 16 && now-l.began >= trip {
		if now-l.since > 30 {
			l.base[0], l.base[1], l.since = l.base[1], math.Inf(1), now
		}
		l.base[1] = min(l.base[1], l.sum/l.n)
		l.n, l.sum = 0, 0
		long = l.long >= 8
	}
	return l.slow >= 8, long
}
