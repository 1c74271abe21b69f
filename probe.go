package aimd

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Probe is the law of New: it needs no factor, for services of any size and kind. The
// window is a real number; below one it is a rate.
//
//		         success: +1                          success: +2/3 a round trip, faster past the ceiling
//		START ----------------> refusal --> CUT ----> AT THE CEILING ----> refusal: CUT
//		  ^                                  |
//		  |                                  |  the window fell to two fifths
//		  |                                  v
//		  |                                HOLD: no lower, until 20 are accepted and 20 refused
//		  |                                  |  the cut did not pay        it paid: CUT
//		  |                                  v
//		  |  refusals are as frequent      TRIAL: some 8 times the window, at once
//		  +----- they are the service's own -+
//		                                     |  refusals are more frequent
//		                                     +----> the held window again, AT THE CEILING
//
//	  - A refusal cuts the window to what the service took: to the attempts in flight without
//	    the refused one or, by Little's law, to the accepted rate times the round trip, whichever
//	    is more. That is the ceiling from then on.
//	  - Below the ceiling each success adds one to the window. At the ceiling the window grows by
//	    2/3 of an attempt a round trip, or a second if the round trip is shorter. Further past the
//	    ceiling it grows faster. Only a window of which half flies grows.
//	  - A cut must pay. If the window fell to two fifths, it is held there until a sample shows
//	    how frequent refusals are. If most attempts are refused, or refusals became rarer by half
//	    than at the window that was held before, the cut paid, and cuts continue.
//	  - Otherwise the law tries a window 8 times as large, or larger if many are refused, but at
//	    most three times as large plus 60. If refusals become 1.5 times as frequent, the service
//	    is full, and the held window returns.
//	  - If refusals do not become more frequent, they are the service's own. There is no ceiling
//	    then. Only refusals that are 1.5 times as frequent cut.
//	  - Slow answers never cut. If eight in a row take 1.2 times the shortest mean round trip, the
//	    window is the ceiling.
//	  - From the first ceiling on, sends are spread over the round trip, but not in a trial.
//	  - While all is refused, each burst of refusals halves the window, at most down to a 60th of
//	    the rate before. If refusals alone fill a round trip, the first success restores half of
//	    what was accepted in a round trip before, and the initial window at most. The ceiling is
//	    what was accepted before.
//	  - If the gap is as long as a round trip and half a second, the attempt after the first refusal
//	    in a row comes at once: the service may refuse what comes after a rest.
//
// The ceiling is State.Ssthresh, and MaxWindow if there is none. A restored State has a ceiling
// unless Ssthresh is MaxWindow or DefaultSsthresh. Of the settings Initial, Min and Max count;
// with a Min above 1 the window never is a rate.
func Probe(s window.Settings) window.Law { return newProbe(s, &tuned) }

// tuning are the constants. Times are in seconds.
type tuning struct {
	growth, small, grain, longest float64
	touch, slow, age              float64
	batch, fall, more             float64
	reach                         float64
}

// tuned is what was measured; TestProbeConstants shows what each constant is for.
var tuned = tuning{
	growth:  2. / 3,  // attempts a round trip at the ceiling, and the share of the way past it
	small:   4,       // attempts; below, the gap alone sets the rate. Fewer answers show nothing
	grain:   1e-3,    // shorter gaps are left out: a timer each costs more
	longest: 15,      // the longest gap
	touch:   1. / 60, // of the rate before an outage, the least rate while it lasts
	slow:    1.2,     // times the shortest mean round trip
	age:     60,      // how fast the shortest mean is forgotten
	batch:   20,      // successes and refusals of a sample; more refusals in a row are an outage
	fall:    2.5,     // a cut by this factor must pay
	more:    1.5,     // times as frequent is clearly more frequent
	reach:   8,       // times the held window is the window of a trial, if nothing is refused
}

// phase is what the law does with refusals.
type phase int

const (
	cutting phase = iota // each refusal cuts
	holding              // cuts go no lower than the held window, while a sample is taken there
	trying               // the window is many times as large, while a sample is taken there
)

// probe is the state of the law. What is not here is in window.State.
type probe struct {
	*tuning
	initial, min, max float64

	// window is the window; window.State has it rounded, at least 1, with a gap.
	window float64
	// trip is the mean round trip; 0 before the first answer.
	trip float64
	// ceiling is the window that the last cut left, +Inf if there is none.
	ceiling float64
	// half is the lowest ceiling that one burst of refusals can bring: half of the window.
	half float64
	// rate is what is accepted a second, up to the last success at the time succeeded.
	rate, succeeded float64
	// refused counts the refusals since the last success.
	refused float64
	// before is what was accepted in a round trip before these refusals.
	before float64

	// shortest is the shortest mean round trip of late, compared when answers
	// were counted from, and slow how many in a row took clearly longer.
	shortest, compared, answers, slow float64

	phase phase
	// held is the window to which the law holds, or from which it tries. While each refusal cuts, it is
	// the largest window since the last sample that decided something.
	held float64
	// earlier are the refusals for each success at the window that was held before, 0 if none was.
	earlier float64
	// sample counts the answers since the window was as it is.
	sample sample
	// own are the refusals for each success that are the service's own, 0 if none are known.
	own float64
}

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
	w := p.window
	switch {
	case a.Outcome.Accepted():
		w = p.success(now, w, rtt, a)
	case a.Outcome.Overloaded():
		w = p.refusal(now, w, a)
	default:
		return s
	}
	return p.state(w)
}

// begin is before the first answer, of a new law or after Reconfigured.
func (p *probe) begin(now, rtt float64, s window.State, a window.Answer) {
	p.trip, p.compared = rtt, now
	p.succeeded = now - s.Gap.Seconds()
	p.window = s.Cwnd
	if s.Gap > 0 {
		p.window = min(p.window, p.trip/s.Gap.Seconds())
	}
	p.held = min(s.Cwnd, float64(a.Flying))
	p.sample = sample{began: now}
	if s.Ssthresh != window.DefaultSsthresh && s.Ssthresh < window.MaxWindow {
		p.ceiling = s.Ssthresh
	}
}

// state is the window with its gap. Below p.small the gap alone sets the rate. A trial has no
// gap: at once, the attempts show best whether the service has room for them. If gaps are long,
// the first refused attempt has the least gap after it: the service may refuse after a rest. With
// no gap the limiter would pause.
func (p *probe) state(w float64) window.State {
	w = min(w, p.max)
	if p.min > window.MinWindow {
		w = max(w, p.min)
	}
	s := window.State{Cwnd: max(1, w), Ssthresh: min(max(1, p.ceiling), window.MaxWindow)}
	p.window = w
	gap := p.trip / w
	start := math.IsInf(p.ceiling, 1) && p.own == 0 // nothing was refused
	if w >= 1 && (start || p.phase == trying || gap <= p.grain) {
		return s
	}
	if w < p.small {
		s.Cwnd = max(1, math.Round(w))
	}
	s.Gap = time.Duration(min(gap, p.longest) * float64(time.Second))
	if w <= 1 && gap >= p.span() && p.refused == 1 {
		s.Gap = 1
	}
	return s
}

// span is the time for which the accepted rate is a mean.
func (p *probe) span() float64 { return max(0.5, p.trip) }

// good is how many attempts the service accepts in a round trip, by Little's law. In silence it fades.
func (p *probe) good(now float64) float64 {
	if p.rate == 0 {
		return 0
	}
	return p.trip * p.rate * math.Exp((p.succeeded-now)/max(p.span(), 1/p.rate))
}

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
	if good := p.trip * p.rate; silent && w < p.before/2 { // Little's law
		w = min(p.initial, p.before/2)
	} else if w < good/2 {
		p.ceiling = max(p.ceiling, good)
		w = good
	}
	slow := p.tooSlow(now, rtt)
	switch {
	case p.phase == trying:
	case p.phase == holding && p.full():
		w = p.try(now, w)
	case slow:
		p.ceiling = min(p.ceiling, max(1, w))
	case float64(a.Flying+1) > w/2:
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
	step := p.growth * min(1, p.trip) // of a round trip
	switch {
	case w < p.ceiling:
		step = max(step, p.ceiling-w)
	case w > p.ceiling+1:
		step = max(step, p.growth*(w-p.ceiling)*min(1, 2*p.trip))
	}
	return w + min(1, step/max(1, w))
}
