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
//		START ---------------> refusals ---> CUT ----> AT THE CEILING ----> refusal: CUT
//		  ^                                  |
//		  |                                  |  the window fell to two fifths
//		  |                                  v
//		  |                                HOLD: no lower, until 20 are accepted and 20 refused
//		  |                                  |  the cut did not pay        it paid: CUT
//		  |                                  v
//		  |  refusals are as frequent      TRIAL: some 8 times the window
//		  +----- they are the service's own -+
//		                                     |  refusals are more frequent
//		                                     +----> the held window again, AT THE CEILING
//
//	  - While there is no ceiling, each success adds one to the window. A refusal cuts only if more
//	    than a fifth of the last answers are refusals: of as many answers as fly, and 40 at most.
//	  - A cut leaves what the service took: the attempts in flight without the refused one or, by
//	    Little's law, the accepted rate times the round trip, whichever is more. That is the ceiling
//	    from then on. Each further refusal of the burst takes one, from the second cut on down to half
//	    of the window.
//	  - Below the ceiling each success adds one to the window. At the ceiling the window grows by
//	    2/3 of an attempt a round trip, or a second if the round trip is shorter. Further past the
//	    ceiling it grows faster. Only a window of which half flies grows.
//	  - A cut must pay. If the window fell to two fifths, it is held there until a sample shows how
//	    frequent refusals are. If they became rarer by half than at the window that was held before,
//	    the cut paid, and cuts continue. They also do if most attempts are refused, and refusals
//	    are 1.5 times as frequent as at the window before, or none was held.
//	  - Otherwise the law tries a window 8 times as large, or larger if many are refused, but at
//	    most three times as large plus 60. If refusals become 1.5 times as frequent, or half of
//	    the trial is refused in a row, the service is full, and the held window returns. So it does
//	    before the sample is full if refusals are twice as frequent, and four more.
//	  - If refusals do not become more frequent, they are the service's own. There is no ceiling
//	    then. Only refusals that are 1.5 times as frequent cut. If refusals become rarer by a third,
//	    the service's own share falls, at most by half at a time.
//	  - Slow answers never cut. If eight in a row take 1.3 times the shortest mean round trip, and
//	    so does the round trip by Little's law, the window is the ceiling: growth gained nothing.
//	    Answers that only differ in length are slow, too, but the accepted rate grows with the window.
//	  - From the first ceiling on, sends are spaced, but not in a trial of a held window below four.
//	  - Spaced sends that had to wait for the window follow at once, from the first refusal on, unless more than a
//	    fifth of the early attempts are refused, as at a limit of requests a second. Early are those that were sent
//	    sooner after the one before than half of the gap. The share is of as many of the last answers as fly, 40 at
//	    most, without timeouts.
//	  - While all is refused, each burst of refusals halves the window, at most down to a 60th of
//	    the rate before, and one a second. From there each refusal takes a twentieth.
//	  - The first success after a silence restores half of what was accepted in a round trip before,
//	    and the initial window at most. The ceiling is what was accepted before. After a silence of
//	    a second, or two round trips, the accepted rate is as before.
//	  - If a silence with more than four refusals lasts 1.5 times as long as the acceptance before it
//	    and a round trip, a limit was used up. Its rate is between that of the burst and that of burst and silence
//	    together: their geometric mean is the ceiling. If less is accepted then, by a third, the
//	    service goes up and down, and silences are outages from then on. After a timeout they are, too.
//
// The ceiling is State.Ssthresh, and MaxWindow if there is none. A restored State has a ceiling
// unless Ssthresh is MaxWindow. With a Settings.Min above 1 the window never is a rate.
func Probe(s window.Settings) window.Law { return newProbe(s, &tuned) }

// tuning are the constants. Times are in seconds.
type tuning struct {
	growth, few, touch, slow, age, batch, fall, more, reach float64
}

// tuned is what was measured; TestProbeConstants shows what each constant is for.
var tuned = tuning{
	growth: 2. / 3,  // attempts a round trip at the ceiling, and the share of the way past it
	few:    4,       // answers that show nothing, and of 20 a burst; a window that small is tried without spacing
	touch:  1. / 60, // of the rate before an outage, the least rate while it lasts
	slow:   1.3,     // times the shortest round trip
	age:    60,      // how fast the shortest round trip is forgotten
	batch:  20,      // successes and refusals of a sample; more refusals in a row are an outage
	fall:   2.5,     // a cut by this factor must pay
	more:   1.5,     // times as frequent, or as long, is clearly more
	reach:  8,       // times the held window is the window of a trial, if nothing is refused
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
	initial float64

	// trip is window.State.Trip at the last answer; 0 before the first.
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
	// share is the share of refusals among the last answers, of which there are as many as fly.
	share float64
	// early is that share among the attempts that were sent early; 1 before the first refusal.
	early float64
	// taken is how many were accepted since the last silence, from the time began on; -Inf after a timeout. most is
	// the most that were accepted between two silences, +Inf if the service goes up and down.
	began, taken, most float64

	// shortest is the shortest mean round trip of late, and least the shortest by Little's law; both are compared
	// once a round trip, at the time judged next. slow counts the answers in a row that took clearly longer.
	shortest, least, judged, slow float64

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
	return &probe{tuning: t, initial: s.Initial, ceiling: math.Inf(1)}
}

// Timed is true: the law needs round-trip times. If the clock stands still they count as a
// microsecond.
func (p *probe) Timed() bool { return true }

func (p *probe) Answered(at time.Duration, s window.State, a window.Answer) window.State {
	now, first := at.Seconds(), p.trip == 0
	if p.trip = s.Trip.Seconds(); first {
		p.begin(now, s, a)
	}
	switch {
	case a.Outcome.Accepted():
		p.note(a, 0)
		return p.state(p.success(now, s.Cwnd, a))
	case a.Outcome.Overloaded():
		if p.note(a, 1); a.Outcome == window.Timeout {
			p.began = math.Inf(-1)
		}
		return p.state(p.refusal(now, s.Cwnd, a))
	}
	return s
}

// begin is before the first answer, of a new law or after Reconfigured.
func (p *probe) begin(now float64, s window.State, a window.Answer) {
	p.succeeded, p.began, p.held = now, now, min(s.Cwnd, float64(a.Flying))
	if s.Spaced {
		p.succeeded -= p.trip / s.Cwnd
	}
	if s.Ssthresh < window.MaxWindow {
		p.ceiling = s.Ssthresh
	}
}

// note keeps the shares of refusals among the last answers, of which there are as many as fly, at most two batches.
func (p *probe) note(a window.Answer, refused float64) {
	last := max(2, min(2*p.batch, float64(a.Flying)))
	if p.share == 0 {
		p.early = 1 - refused
	} else if a.Early && a.Outcome != window.Timeout {
		p.early += (refused - p.early) / last
	}
	p.share += (refused - p.share) / last
}

// many reports whether a share of refusals is more than those that mean nothing have.
func (p *probe) many(share float64) bool { return share > p.few/p.batch }

// state is the window. Sends are not spaced before the first refusal, nor in the trial of a few: in a longer
// trial other clients make room, and it seems to pay.
func (p *probe) state(w float64) window.State {
	refused := p.ceiling <= window.MaxWindow || p.own > 0
	return window.State{
		Cwnd: w, Ssthresh: min(max(1, p.ceiling), window.MaxWindow),
		Spaced:  w < 1 || refused && !(p.phase == trying && p.held < p.few),
		CatchUp: !p.many(p.early),
	}
}

// span is the time for which the accepted rate is a mean.
func (p *probe) span() float64 { return max(0.5, p.trip) }

// good is how many attempts the service accepts in a round trip, by Little's law. In silence it fades.
func (p *probe) good(now float64) float64 {
	return p.trip * p.rate * math.Exp((p.succeeded-now)/max(p.span(), 1/p.rate))
}

func (p *probe) success(now, w float64, a window.Answer) float64 {
	if p.rate == 0 { // until now the round trip may be that of a refusal, which is quicker
		p.shortest, p.least, p.judged = math.MaxFloat64, math.MaxFloat64, now+p.trip
	}
	since := max(now-p.succeeded, 1e-9)
	p.rate += (1/since - p.rate) * -math.Expm1(-since/p.span())
	silent := p.refused > 0 && since > p.trip
	if silent && p.refused > p.few {
		w = p.usedUp(now, w)
	}
	p.taken++
	p.succeeded, p.refused = now, 0
	if now >= p.sample.began {
		p.sample.accepted++
	}
	if p.slow++; a.RTT.Seconds() <= p.tuning.slow*p.shortest {
		p.slow = 0
	}
	if now >= p.judged {
		little, age := float64(a.Flying)/p.rate, min(1, (now-p.judged+p.trip)/p.age)
		p.shortest = min(p.trip, p.shortest+(p.trip-p.shortest)*age)
		p.least = min(little, p.least+(little-p.least)*age)
		p.judged = now + p.trip
	}
	if silent {
		p.ceiling = max(p.ceiling, p.before)
	}
	if good := p.trip * p.rate; silent && w < p.before/2 { // Little's law
		w = min(p.initial, p.before/2)
		// A mean over the silence would restore less after each outage.
		if since > 2*p.span() {
			p.rate = p.before / p.trip
		}
	} else if w < good/2 {
		p.ceiling = max(p.ceiling, good)
		w = good
	}
	switch {
	case p.phase == trying:
	case p.phase == holding && p.full():
		w = p.try(now, w)
	case p.slow >= 8 && float64(a.Flying) > p.tuning.slow*p.least*p.rate:
		p.ceiling = min(p.ceiling, max(1, w))
	case float64(a.Flying+1) > w/2:
		step := max(p.growth*min(1, p.trip), p.ceiling-w, p.growth*(w-p.ceiling-0.5)*min(1, 2*p.trip))
		w += min(1, step/max(1, w)) // step is of a round trip
	}
	return w
}

// usedUp is the window after a silence. If the silence was longer than the acceptance before it, a limit was used
// up that has been refilled since. A lower rate is accepted for longer. If it is not, the service goes up and
// down whatever the rate.
func (p *probe) usedUp(now, w float64) float64 {
	if now-p.succeeded > p.more*(p.succeeded-p.began+p.trip) && p.taken > 0 {
		if p.taken*p.more < p.most {
			p.most = math.Inf(1)
		} else {
			p.most = max(p.most, p.taken)
			p.before = min(p.before, math.Sqrt(p.before*p.trip*p.taken/(now-p.began)))
			w, p.own = min(w, p.before), 0
			p.held, p.ceiling = w, min(p.ceiling, p.before)
			p.open(cutting, now)
		}
	}
	p.began, p.taken = now, 0
	return w
}

// refusal is an overload or a timeout.
func (p *probe) refusal(now, w float64, a window.Answer) float64 {
	if p.refused++; p.refused == 1 {
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
		return p.tried(now, w)
	case p.phase == holding && (outage || p.full() && w >= p.more*p.held):
		p.phase, p.held = cutting, p.held*p.fall
	case p.phase == holding && p.paid():
		p.phase, p.held, p.earlier = cutting, w, p.sample.odds()
	case p.phase == holding:
		w = max(p.held, p.cut(now, w, a))
		p.ceiling = max(p.ceiling, p.held)
		return w
	}
	p.heed(now)
	if math.IsInf(p.ceiling, 1) && p.own == 0 && !p.many(p.share) {
		return w
	}
	// A batch more and p.few allow for chance.
	if !outage && p.own > 0 && p.sample.refused <= p.more*p.own*(p.sample.accepted+p.batch)+p.few {
		return w
	}
	p.held = max(p.held, min(w, float64(a.Flying)))
	low := min(w, p.held/p.fall)
	if w = p.cut(now, w, a); !outage && w < low {
		w, p.held, p.ceiling = low, low, low
		p.open(holding, now)
	}
	return w
}

// cut is the window after a refusal. The depth below what was taken is what growth makes up
// for in about a second.
func (p *probe) cut(now, w float64, a window.Answer) float64 {
	good := min(w, p.good(now)) - math.Sqrt(min(1, w)*min(1, p.trip))
	if a.Ignored { // one more of the same burst
		p.ceiling = max(p.half, good, min(p.ceiling, w)-1)
		return min(w, p.ceiling)
	}
	before := min(1, w)
	if w = min(w, max(float64(a.Flying-1), good)); w < 1 {
		w = max(before/2, min(before-before/p.batch, p.before*p.touch, p.trip), good)
	}
	p.ceiling, p.half = w, max(1, w/2)
	return w
}

// sample counts answers from a time on.
type sample struct{ began, accepted, refused float64 }

// open begins a new sample, a round trip from now: until then answers are to attempts that were
// sent before, and refusals are the quicker ones.
func (p *probe) open(f phase, now float64) { p.phase, p.sample = f, sample{began: now + p.trip} }

func (s sample) odds() float64 { return s.refused / max(1, s.accepted) }

// full reports whether the sample shows how frequent refusals are.
func (p *probe) full() bool { return p.sample.refused >= p.batch && p.sample.accepted >= p.batch }

// paid reports whether the load is the reason of the refusals: since the cut they became rarer by half or, if
// most attempts are refused, more frequent.
func (p *probe) paid() bool {
	s := p.sample
	return s.refused > p.more*s.accepted+3 && s.odds() > p.more*p.earlier || s.refused > 1 && s.accepted >= p.batch/2 && s.odds() < p.earlier/2
}

// try begins the trial of a much larger window, after a sample at the window that is held. Three
// times a large window and three samples more show as much: a full service refuses most attempts.
func (p *probe) try(now, w float64) float64 {
	p.held, p.own, p.ceiling = w, p.sample.odds(), math.Inf(1)
	p.open(trying, now)
	return min(p.reach*(1+p.own)*w, 3*(w+p.batch))
}

// tried ends a trial once it shows whether refusals became more frequent.
func (p *probe) tried(now, w float64) float64 {
	s := p.sample
	switch {
	case p.full() && s.odds() <= p.more*p.own: // they are the service's own
		p.held = w
	case p.full() || p.refused > max(p.batch, w/2) || s.refused > 2*p.own*max(s.accepted, p.few)+p.few:
		w, p.earlier = min(w, p.held), p.own
		p.own, p.held, p.ceiling, p.half = 0, w, w, w
	default:
		return w
	}
	p.open(cutting, now)
	return w
}

// heed lowers the service's own share of refusals, at most to half, if a sample shows that it fell.
func (p *probe) heed(now float64) {
	if p.full() || p.own*p.sample.accepted >= 2*p.batch {
		p.own = min(p.own, max(p.own/2, p.more*p.sample.odds()))
		p.open(cutting, now)
	}
}
