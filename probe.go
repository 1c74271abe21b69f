package aimd

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Probe is the law that needs no factor, for services of any size and kind. Its
// window w is a real number that may sink below one and is a rate then.
//
//   - A refusal tells what the service took: what was in flight without the one that
//     was refused or, by Little's law, what was accepted of late times the round
//     trip, whichever is more. The window and its ceiling are cut to that.
//   - Below the ceiling the window grows by one for each success, at the ceiling by
//     two thirds of an attempt a round trip, and past it faster and faster, since then the
//     service has changed. Only a window that is full grows.
//   - A round trip shorter than a second counts as its share of a second: limiters
//     count by the second.
//   - Once something was refused, sends are spread over the round trip, so that a
//     window of 1.9 is a rate and no burst of two.
//   - Without refusals, answers that are slow eight times in a row hold the ceiling
//     down, and for a round trip, the window. A single slow answer says nothing, nor do
//     many that come late at once.
//   - After 20 bursts of refusals, slow start begins anew. If twice as much is taken then
//     and no larger share refused, up to 10%, that share is chance. It is no reason to cut
//     then, nor while that is tried: where nothing waits, that lasts until more is refused.
//   - While nothing is accepted the window halves with each refusal, until a sixtieth of
//     the rate before an outage is what it is tried with, once a second at most. The first
//     success after that brings back half of what was served before, or the initial
//     window if that is less.
//
// The ceiling is State.Ssthresh; at the start, and where slow start began anew, there is none,
// which is MaxWindow. A state that was learned before (Config.Restore) has one unless its
// Ssthresh is that or DefaultSsthresh. Of the settings Initial, Min and Max count; with a
// Min above 1 the window never is a rate.
func Probe(s window.Settings) window.Law { return newProbe(s, &tuned) }

// tuning are the constants. Times are in seconds.
type tuning struct {
	growth, excess, unit, full, slack, rate, grain float64
	longest, outage, touch                         float64
	slow, long, back, age                          float64
	run, batch                                     int
	noise, trial                                   float64
}

// tuned is what was measured; TestProbeConstants has what moves with each of them.
var tuned = tuning{
	growth:  2. / 3,  // attempts a round trip at the ceiling; TCP's 1: 10 clients 1.155 attempts for 1.14
	excess:  0.5,     // of the way past the ceiling a round trip; 0 never finds new capacity: 1.61 for 1.16
	unit:    1,       // by which limiters count, goodput over half of it or more; 5: sliding window 1.51 for 1.23
	full:    0.9,     // of the window must fly for it to grow: what is paced flies a little below; 1: 1.20 for 1.16
	slack:   0.8,     // of the gap where the window is not filled, since timers are late; 1: 1.08 for 1.05
	rate:    4,       // below this window the gap alone tells the rate: 1.9 is not 1; 2: haproxy 1.23 for 1.12; everywhere: 1.134 for 1.05
	grain:   1e-4,    // gaps below this are left out, a timer each costs more; 1 s: a bucket of burst 1 5.4 for 1.44
	longest: 15,      // the longest gap; 1: 1000 clients on 5 slots 217 attempts for 8.4
	outage:  2,       // without a success; a limiter that drains takes a second; 0: sliding window 1.38 for 1.23
	touch:   1. / 60, // of the rate before an outage is what it is tried with, once a unit at most; 0: back after 16 s for 3
	slow:    1.2,     // times the best mean, run times in a row: slow start ends; never: uplink 80 in flight for 48
	long:    1.5,     // the same, and the window shrinks; never: uplink 2.14 s from send to success for 1.80
	back:    0.9,     // what is left of it then, once a batch; 0.99: a service that thrashes 1.63 for 1.44
	age:     30,      // half of how long the best mean counts; 1: 1.79 for 1.44
	run:     8,       // answers in a row that are no chance; 1: long tails 1.3 for 1.2
	batch:   16,      // answers of which a mean or a share is taken, over a round trip at least
	noise:   0.1,     // of the answers, the most that chance may refuse; 0: 5% at random 73 for 1.4; 0.2: 10 clients .89 fair for .99
	trial:   20,      // bursts of refusals until it is tried whether they are chance; never: 73 for 1.4; 5: 10 clients .84 fair for .98
}

type probe struct {
	*tuning
	initial, min, max float64
	// trip is the mean round trip; 0 before the first answer.
	trip float64
	// top is the ceiling. least is what a burst of refusals can bring it to.
	top, least float64
	// served is what flew at most since nothing was refused for a whole window.
	served float64
	// usual is what was accepted in a round trip before the last refusals.
	usual float64
	// clean are the successes since the last refusal that was no chance, silent the cuts
	// since the last success.
	clean, silent int
	refused       bool
	// ok is the time of the last success.
	ok float64
	// accepted are the successes of two spans and lost the refusals, from when they began:
	// so what was accepted is never forgotten all at once.
	from, accepted, lost [2]float64
	pulse                pulse
	chance               chance
	// spared: a refusal that began a burst was chance, so that a later one of it begins it.
	spared bool
}

func newProbe(s window.Settings, t *tuning) *probe {
	inf := math.Inf(1)
	return &probe{tuning: t, initial: s.Initial, min: s.Min, max: s.Max, top: inf, pulse: pulse{best: [2]float64{inf, inf}}}
}

// Timed is true: the law needs round-trip times. Where the clock stands still they count
// as a microsecond.
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
		w = p.refusal(now, w, a)
	default:
		return s
	}
	return p.state(now, w)
}

// begin is before the first answer, of a new law or after Reconfigured.
func (p *probe) begin(now, rtt float64, s window.State) {
	p.trip, p.ok, p.from = rtt, now, [2]float64{now, now}
	p.refused = s.Gap > 0
	if s.Ssthresh != window.DefaultSsthresh && s.Ssthresh < window.MaxWindow {
		p.top = s.Ssthresh
	}
}

// state is the window with its gap. Below p.rate the gap alone tells the rate; from
// there on it also shrinks by up to p.slack where less is accepted than the window
// holds, so that the window is what limits.
func (p *probe) state(now, w float64) window.State {
	w = min(w, p.max)
	if p.min > window.MinWindow {
		w = max(w, p.min)
	}
	s := window.State{Cwnd: max(1, w), Ssthresh: min(max(1, p.top), window.MaxWindow)}
	if w >= 1 && !p.refused {
		return s
	}
	gap := p.trip / w
	if w >= 1 && gap <= p.grain {
		return s
	}
	if w < p.rate {
		s.Cwnd = math.Ceil(w)
	} else {
		filled := p.goodput(now) / w
		filled *= filled
		gap *= min(1, max(p.slack, filled*filled))
	}
	s.Gap = time.Duration(min(gap, p.longest) * float64(time.Second))
	return s
}

// often is how much a round trip counts: its share of a second, 1 at most.
func (p *probe) often() float64 { return min(1, p.trip/p.unit) }

// goodput is what was accepted of late in a round trip: Little's law.
func (p *probe) goodput(now float64) float64 {
	return p.trip * (p.accepted[0] + p.accepted[1]) / max(p.unit/2, p.trip, now-p.from[0])
}

// refusal is an overload or a timeout. The depth of a cut below what was taken is what
// growth makes up for in about a second.
func (p *probe) refusal(now, w float64, a window.Answer) float64 {
	taken, good := float64(a.Flying-1), min(w, p.goodput(now))
	first := !a.Ignored || p.spared
	if p.byChance(w, good, first) {
		p.spared = first
		return w
	}
	p.spared = false
	good -= math.Sqrt(min(1, w) * p.often())
	hadNone := p.clean == 0
	if !hadNone {
		p.usual = max(p.usual/2, p.goodput(p.ok))
	}
	p.clean = 0
	if !first {
		return p.more(w, good)
	}
	if hadNone {
		p.silent++
	}
	if p.silent > 1 {
		good = 0 // nothing is accepted any more
	}
	p.refused = true
	before := min(1, w)
	w = min(w, max(taken, good))
	if w < 1 {
		w = max(before/2, min(before, max(min(p.usual*p.touch, p.trip/p.unit), p.trip/p.longest)), good)
	} else {
		p.least = max(1, w/2)
	}
	p.top = w
	return w
}

// more is one more refusal of the same burst. Each takes one from the ceiling, so that
// it ends at what was taken; slow start doubles, so never below half.
func (p *probe) more(w, good float64) float64 {
	if w < 1 {
		return w
	}
	p.top = max(p.least, good, p.top-1)
	return min(w, p.top)
}

func (p *probe) success(now, w, rtt float64, a window.Answer) float64 {
	p.trip += (rtt - p.trip) * min(0.5, 1/max(1, w))
	p.clean++
	w = p.regain(now, w, a)
	if now-p.from[1] > max(p.unit/2, p.trip) {
		p.from, p.accepted = [2]float64{p.from[1], now}, [2]float64{p.accepted[1], 0}
		p.lost = [2]float64{p.lost[1], 0}
	}
	p.chance.answers++
	p.accepted[1]++
	p.ok, p.silent = now, 0
	if float64(p.clean) > max(4, p.served) {
		p.served = 0
	}
	p.served = max(p.served, float64(a.Flying))
	slow, long := p.pulse.beat(p.tuning, now, rtt, p.trip)
	if long && w >= 1 {
		w = max(1, p.back*w)
		p.top = w
	}
	switch {
	case slow:
		p.top = min(p.top, max(1, w))
	case float64(a.Flying+1) > p.full*w:
		w = p.grown(w)
	}
	return w
}

// regain is the window where more is taken than it holds: at the end of an outage, half
// of what was served before it, the initial window at most, and half of that if it is
// refused again; after a limiter that counts has drained, what it accepts and, by slow
// start, half of what was usual. That is never more than what flew.
func (p *probe) regain(now, w float64, a window.Answer) float64 {
	if w > p.served/2 {
		return w
	}
	if now-p.ok > p.outage {
		if p.served <= 1 {
			return w
		}
		p.top = p.served
		p.served /= 2
		return min(p.initial, p.served)
	}
	if good := min(p.goodput(now), p.served); !a.Ignored && w < good/2 {
		p.top = max(p.top, good, p.usual/2)
		return good
	}
	return w
}

// grown is the window after one success. Below one a step is a larger share of it, so it
// is a little smaller: 3 a second with 1.37 attempts for 1.41.
func (p *probe) grown(w float64) float64 {
	step := p.growth * p.often()
	if w < 1 {
		step *= math.Sqrt(math.Sqrt(w))
	}
	switch {
	case w < p.top:
		step = max(step, p.top-w)
	case w > p.top+1:
		step = max(step, p.excess*(w-p.top)*min(1, 2*p.trip/p.unit))
	}
	return w + min(1, 3*w, step/max(1, w))
}
