package aimd

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Probe is the law of New: it needs no factor, for services of any size and kind. The
// window w is a real number; below one it is a rate.
//
//		         success: +1                            success: +2/3 a round trip, faster past the ceiling
//		START ----------------> refusal --> CUT ------> AT THE CEILING ----> refusal: CUT
//		                                     |
//		                                     |  the window fell to a third, and refusals are as frequent as before
//		                                     v
//		                                   TRIAL: the old window again, while a sample is taken
//		                                     |  more is accepted, refusals are as frequent: they are the service's own
//		                                     |      --> START, and refusals of that share do not cut
//		                                     +- else: the small window again --> AT THE CEILING
//
//	  - A refusal cuts the window to what the service took: to the attempts in flight without
//	    the refused one or, by Little's law, to the accepted rate times the round trip, whichever
//	    is more. That is the ceiling from then on.
//	  - Below the ceiling each success adds one to the window. At the ceiling the window grows by
//	    2/3 of an attempt a round trip, or a second if the round trip is shorter. Further past the
//	    ceiling it grows faster. Only a window of which half flies grows.
//	  - A cut must pay. If the window fell to a third and refusals did not become rarer by half,
//	    the old window returns for a trial. A trial must pay, too: at least 1.5 times as much must
//	    be accepted, and refusals may become 1.5 times as frequent at most. Then this share of
//	    refusals is the service's own and no longer cuts. Else the small window returns.
//	  - A window below 12 is cut without this check: the answers to so few attempts do not show
//	    whether other clients cause the refusals.
//	  - Slow answers never cut. If eight in a row take 1.2 times the shortest mean round trip, the
//	    window is the ceiling.
//	  - Once the window has a ceiling, sends are spread over the round trip.
//	  - While all is refused, each burst of refusals halves the window, at most down to a 60th of
//	    the rate before. If refusals alone fill a round trip, the first success restores half of
//	    what was accepted in a round trip before, and the initial window at most. The ceiling is
//	    what was accepted before.
//	  - A single refusal after a rest cuts nothing below one attempt at a time.
//
// The ceiling is State.Ssthresh, and MaxWindow if there is none. A restored State has a ceiling
// unless Ssthresh is MaxWindow or DefaultSsthresh. Of the settings Initial, Min and Max count;
// with a Min above 1 the window never is a rate.
func Probe(s window.Settings) window.Law { return newProbe(s, &tuned) }

// tuning are the constants. Times are in seconds.
type tuning struct {
	growth, slack, small, grain, longest float64
	touch, slow, age                     float64
	batch, fall, more                    float64
}

// tuned is what was measured; TestProbeConstants shows what each constant is for.
var tuned = tuning{
	growth:  2. / 3,  // attempts a round trip at the ceiling, and the share of the way past it
	slack:   0.8,     // of the gap if less is accepted than the window holds: timers are late
	small:   4,       // attempts; below, the gap alone sets the rate, and no sample is judged
	grain:   1e-3,    // shorter gaps are left out: a timer each costs more
	longest: 15,      // the longest gap
	touch:   1. / 60, // of the rate before an outage, the least rate while it lasts
	slow:    1.2,     // times the shortest mean round trip
	age:     60,      // how fast the shortest mean is forgotten
	batch:   24,      // successes and refusals of a sample that is judged
	fall:    3,       // a cut by this factor must have paid
	more:    1.5,     // times as much is clearly more
}

// probe is the state of the law. What is not here is in window.State.
type probe struct {
	*tuning
	initial, min, max float64

	// trip is the mean round trip; 0 before the first answer.
	trip float64
	// ceiling is the window that the last cut left, +Inf if there is none.
	ceiling float64
	// half is the lowest ceiling that one burst of refusals can bring: half of the window.
	half float64
	// paced: something was refused.
	paced bool
	// rate is what is accepted a second, up to the last success at the time succeeded.
	rate, succeeded float64
	// refused counts the refusals since the last success.
	refused float64
	// before is what was accepted in a round trip before these refusals.
	before float64

	// shortest is the shortest mean round trip of late, compared when answers
	// were counted from, and slow how many in a row took clearly longer.
	shortest, compared, answers, slow float64

	// sample counts the answers since the window was as it is.
	sample sample
	// old is a sample to compare with: with a larger window or, in a trial, with the small one.
	old result
	// own are the refusals for each success that are the service's own, 0 if none are known.
	own float64
	// trial: the old window is back until the sample is full.
	trial bool
}

// sample counts the answers since the time began, when the window was opened.
type sample struct{ opened, began, accepted, refused float64 }

// result is what a sample showed: refusals for each success, and successes a second.
type result struct{ window, odds, rate float64 }

func newProbe(s window.Settings, t *tuning) *probe {
	return &probe{tuning: t, initial: s.Initial, min: s.Min, max: s.Max, ceiling: math.Inf(1), shortest: math.Inf(1)}
}

// Timed is true: the law needs round-trip times. If the clock stands still they count as a
// microsecond.
func (p *probe) Timed() bool { return true }

// NoFactor makes a factor an error; see window.Law.
func (p *probe) NoFactor() {}

func (p *probe) Answered(at time.Duration, s window.State, a window.Answer) window.State {
	now, rtt := at.Seconds(), max(a.RTT, time.Microsecond).Seconds()
	if p.trip == 0 {
		p.begin(now, rtt, s, a)
	}
	w := s.Cwnd
	if s.Gap > 0 {
		if w < p.small {
			w += 0.5 // it was rounded
		}
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

// begin is before the first answer, of a new law or after Reconfigured.
func (p *probe) begin(now, rtt float64, s window.State, a window.Answer) {
	p.trip, p.compared, p.paced = rtt, now, s.Gap > 0
	p.succeeded = now - s.Gap.Seconds()
	p.old.window = min(s.Cwnd, float64(a.Flying))
	p.sample = sample{opened: s.Cwnd, began: now}
	if s.Ssthresh != window.DefaultSsthresh && s.Ssthresh < window.MaxWindow {
		p.ceiling = s.Ssthresh
	}
}

// state is the window with its gap. Below p.small the gap alone sets the rate.
func (p *probe) state(now, w float64) window.State {
	w = min(w, p.max)
	if p.min > window.MinWindow {
		w = max(w, p.min)
	}
	s := window.State{Cwnd: max(1, w), Ssthresh: min(max(1, p.ceiling), window.MaxWindow)}
	gap := p.trip / w
	if w >= 1 && (!p.paced || gap <= p.grain) {
		return s
	}
	if w < p.small {
		s.Cwnd = max(1, math.Round(w))
	} else {
		gap *= min(1, max(p.slack, math.Pow(p.good(now)/w, 4)))
	}
	s.Gap = time.Duration(min(gap, p.longest) * float64(time.Second))
	return s
}

// span is the time over which the accepted rate is taken.
func (p *probe) span() float64 { return max(0.5, p.trip) }

// good is what is accepted in a round trip: Little's law. In silence it fades.
func (p *probe) good(now float64) float64 {
	if p.rate == 0 {
		return 0
	}
	return p.trip * p.rate * math.Exp((p.succeeded-now)/max(p.span(), 1/p.rate))
}

// step is how much the window grows in a round trip at the ceiling.
func (p *probe) step() float64 { return p.growth * min(1, p.trip) }

func (p *probe) success(now, w, rtt float64, a window.Answer) float64 {
	p.trip += (rtt - p.trip) * min(0.5, 1/max(1, min(w, float64(a.Flying))))
	since := now - p.succeeded
	if since > 0 {
		p.rate += (1/since - p.rate) * -math.Expm1(-since/p.span())
	} else {
		p.rate += 1 / p.span()
	}
	silent := p.refused > 0 && since > p.trip
	p.succeeded, p.refused = now, 0
	if now >= p.sample.began {
		p.sample.accepted++
	}
	if silent {
		p.ceiling = max(p.ceiling, p.before)
	}
	if good := p.good(now); silent && w < p.before/2 {
		w = min(p.initial, p.before/2)
		p.before /= 2
	} else if !a.Ignored && w < good/2 {
		p.ceiling = max(p.ceiling, good)
		w = good
	}
	switch slow := p.tooSlow(now, rtt); {
	case slow && !p.trial:
		p.ceiling = min(p.ceiling, max(1, w))
	case !p.trial && float64(a.Flying+1) > w/2:
		w = p.grown(w)
	}
	return w
}

// tooSlow reports whether eight answers in a row were slow.
func (p *probe) tooSlow(now, rtt float64) bool {
	if p.slow++; rtt <= p.tuning.slow*p.shortest {
		p.slow = 0
	}
	p.answers++
	if since := now - p.compared; since >= p.trip && p.answers >= 16 {
		if p.trip > p.shortest {
			p.shortest += (p.trip - p.shortest) * min(1, since/p.age)
		} else {
			p.shortest = p.trip
		}
		p.compared, p.answers = now, 0
	}
	return p.slow >= 8
}

func (p *probe) grown(w float64) float64 {
	step := p.step()
	switch {
	case w < p.ceiling:
		step = max(step, p.ceiling-w)
	case w > p.ceiling+1:
		step = max(step, p.growth*(w-p.ceiling)*min(1, 2*p.trip))
	}
	return w + min(1, 3*w, step/max(1, w))
}
