package aimd

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Probe is the law of New: it needs no factor, for services of any size and kind. The window is a real number; below
// one it is a rate. A refusal has one of five causes, and a success one of five; each has one effect on the window.
// Events say the cause in a word.
//
//	cause     evidence                                                           the window
//	chance    no ceiling yet, and at most a fifth of the last answers refused    stays
//	own       not more frequent than a trial showed without load                 stays
//	outage    more than 20 refusals in a row                                     halves, down to a 60th of the rate
//	full      in a trial, more frequent than before it                           is the one before the trial
//	load      any other refusal                                                  falls to what was taken
//	back      the first success after a silence                                  is half of that before
//	used up   a silence longer than the acceptance before it                     is the rate that lasts
//	trial     a cut did not pay                                                  is 8 times as large
//	slow      answers are slow                                                   stays, or is half for a look
//	more      any other success                                                  grows
//
// The rules, in the order of docs/laws.md, where each has a figure with it and without it:
//
//  1. chance: while there is no ceiling, each success adds one to the window. A refusal cuts only if more than a fifth
//     of the last answers are refusals: of as many answers as fly, and 40 at most.
//  2. cut: a cut leaves what the service took: the attempts in flight without the refused one or, by Little's law, the
//     accepted rate times the round trip, whichever is more. That is the ceiling from then on.
//  3. margin: below a window of one, or a round trip of a second, a cut leaves a little less: what growth makes up for in
//     a second.
//  4. burst: each further refusal of the burst takes one, from the second cut on down to half of the window.
//  5. growth: below the ceiling each success adds one to the window, or the rest of the way over the window. At the
//     ceiling the window grows by 2/3 of an attempt a round trip, or a second if the round trip is shorter.
//  6. faster: further past the ceiling the window grows by 2/3 of the way past the ceiling in a round trip.
//  7. used: only a window of which half flies grows.
//  8. lift: a window of less than half of what is accepted in a round trip jumps to that, and the ceiling with it.
//  9. hold: a cut must pay. If the window fell to two fifths, it is held there until a sample shows how frequent refusals
//     are. After each trial that failed in a row the fall has to be a ninth deeper, at most to a twentieth. A hold ends if
//     more than 20 are refused in a row, or if the window grew to 1.5 of it.
//  10. paid: if refusals became rarer by half than at the window that was held before, the cut paid, and cuts continue:
//     two refusals and ten successes show it. They also do if there are 1.5 times as many refusals as successes, and three
//     more, and refusals are 1.5 times as frequent as at the window before, or none was held.
//  11. rare: a window of less than three attempts a second is not held, unless the service goes up and down: a sample
//     would take long.
//  12. trial: if a cut did not pay, the law tries a window 8 times as large, or larger if many are refused, but at most
//     three times as large plus 60. Attempts count from those that are sent in the trial on, since other clients yield to it
//     soon. After two round trips, if refusals become 1.5 times as frequent, the service is full, and the held window
//     returns. So it does before the sample is full if refusals are twice as frequent, and four more, and at any time if
//     more than 20 are refused in a row, and half as many as the trial and its expected refusals.
//  13. small trial: sends of a trial of a held window below four are not spaced.
//  14. own: if refusals do not become more frequent, they are the service's own. There is no ceiling then. Only refusals
//     that are 1.5 times as frequent cut. If refusals become rarer by a third, the service's own share falls, at most by half
//     at a time.
//  15. slow: growth must pay. Answers are slow if the mean round trip of a block of them, and that by Little's law, are 1.5
//     times the shortest of late. A block is a round trip, and 20 answers in a row without a refusal, or a hundred from the
//     first refusal on. The window does not grow then. Answers that only differ in length are slow, too, but the accepted
//     rate grows with the window.
//  16. look: if answers become slow, half of what flew is tried. If as much is accepted, that is the ceiling, and half of it
//     is tried. If not, the window is what the rate before needs at the round trip of the half. The next look comes after 30
//     times as long as this one took. Until then the window grows by half at most. If a block is not slow then, nine tenths
//     of the window are the ceiling, so that it grows on as fast.
//  17. spacing: from the first ceiling on, sends are spaced over the round trip.
//  18. catch up: spaced sends that had to wait for the window follow at once, from the first refusal on.
//  19. early: they do not if more than a fifth of the early attempts are refused, as at a limit of requests a second.
//     Early are those that were sent sooner after the one before than half of the gap. The share is of as many of the last
//     answers as fly, 40 at most, without timeouts. It falls by a 50th with each round trip without early attempts, and half
//     as fast after each time that it rises over a fifth.
//  20. floor: while all is refused, each burst of refusals halves the window: at most down to a quarter of the rate before,
//     after 20 in a row or where a refusal lasts down to a 60th, and down to one a second. From there each refusal takes a
//     twentieth.
//  21. back: the first success after a silence restores half of what was accepted in a round trip before, and the initial
//     window at most. The ceiling is what was accepted before. After a silence of a second, or two round trips, the accepted
//     rate is as before.
//  22. used up: if a silence with more than four refusals lasts 1.5 times as long as the acceptance before it and a round
//     trip, a limit was used up. Its rate is between that of the burst and that of burst and silence together: their
//     geometric mean is the ceiling. A silence begins with the first refused attempt, not with the rest before it.
//  23. up and down: if less is accepted then, by a third, and not for longer, the service goes up and down. From then on
//     silences are outages, and what was accepted before counts for the next one, too, if more than four are accepted.
//  24. timeouts: after a timeout, too, a silence is an outage.
//  25. lasting: where a refusal lasts for more than four round trips, growth past the ceiling takes half a second in place
//     of a round trip, and a Retry-After binds all while one may fly at a time. Where a refusal lasts for more than 45, a
//     window below one grows by 2/3 of itself. If 20 are refused there, and 20 accepted, slower is no better, and that ends.
//
// The ceiling is State.Ssthresh, and MaxWindow if there is none. A restored State has a ceiling
// unless Ssthresh is MaxWindow. With a Settings.Min above 1 the window never is a rate.
func Probe(s window.Settings) window.Law { return newProbe(s, &tuned) }

// tuning are the constants. Times are in seconds.
type tuning struct {
	growth, few, touch, batch, fall, more, reach, learn, slowest, stays, every, minute float64
}

// tuned is what was measured; TestProbeConstants shows what each constant is for.
var tuned = tuning{
	growth:  2. / 3,  // attempts a round trip at the ceiling, and the share of the way past it
	few:     4,       // answers that show nothing, and of 20 a burst; a window that small is tried without spacing
	touch:   1. / 60, // of the rate before an outage, the least rate while it lasts
	batch:   20,      // successes and refusals of a sample; more refusals in a row are an outage
	fall:    2.5,     // a cut by this factor must pay
	more:    1.5,     // times as frequent, as long, or as large is clearly more
	reach:   8,       // times the held window is the window of a trial, if nothing is refused
	learn:   0.02,    // of the share of early refusals is forgotten with each round trip that has none
	slowest: 3,       // attempts a second: a window of less is not held
	stays:   0.9,     // of the accepted rate is the same rate
	every:   30,      // times as long as a look took, the next one comes
	minute:  45,      // round trips that a refusal lasts at a limit of a few a minute
}

// cause is why the law moved the window at the last answer, or left it.
type cause uint8

const (
	none cause = iota
	chance
	own
	outage
	full
	load
	back
	usedUp
	trial
	slow
	more
)

func (c cause) String() string {
	return [...]string{"", "chance", "own", "outage", "full", "load", "back", "used up", "trial", "slow", "more"}[c]
}

// probe is the window's curve: what each cause does to it. What is not here is in window.State.
type probe struct {
	*tuning
	initial float64
	cause   cause
	// ceiling is the window that the last cut or look left, +Inf if there is none. half is the lowest ceiling that one
	// burst of refusals can bring: half of the window.
	ceiling, half float64

	meter
	look
	spell
	experiment
}

func newProbe(s window.Settings, t *tuning) *probe {
	p := &probe{tuning: t, initial: s.Initial, ceiling: math.Inf(1)}
	p.deep = t.fall
	p.meter.tuning, p.learns, p.look.tuning, p.spell.tuning, p.experiment.tuning = t, t.learn, t, t, t
	return p
}

// Timed is true: the law needs round-trip times. If the clock stands still they count as a
// microsecond.
func (p *probe) Timed() bool { return true }

// Explain is window.Explained.
func (p *probe) Explain() (cause, phase string) { return p.cause.String(), p.phase.String() }

func (p *probe) Answered(at time.Duration, s window.State, a window.End) window.State {
	now, first := seconds(at), p.trip == 0
	if p.trip = seconds(s.Trip); first {
		p.begin(now, s, a)
	}
	p.cause = none
	switch {
	case a.Outcome.Accepted():
		p.note(a, 0)
		return p.state(p.success(now, s.Cwnd, a))
	case a.Outcome.Overloaded():
		if p.note(a, 1); a.Outcome == window.Timeout {
			p.spell.began = math.Inf(-1)
		}
		return p.state(p.refusal(now, s.Cwnd, a))
	}
	return s
}

// begin is before the first answer, of a new law or after Reconfigured.
func (p *probe) begin(now float64, s window.State, a window.End) {
	p.succeeded, p.spell.began, p.held = now, now, min(s.Cwnd, float64(a.Flying))
	p.again(now - seconds(a.RTT))
	if s.Pace != window.AtOnce {
		p.succeeded -= p.trip / s.Cwnd
	}
	if s.Ssthresh < window.MaxWindow {
		p.ceiling = s.Ssthresh
	}
}

// state is the window. Sends are not spaced before the first refusal, nor in the trial of a few: in a longer
// trial other clients make room, and it seems to pay.
func (p *probe) state(w float64) window.State {
	s, refused := window.State{Cwnd: w, Ssthresh: window.MaxWindow}, p.own > 0
	if p.ceiling <= window.MaxWindow {
		s.Ssthresh, refused = max(1, p.ceiling), true
	}
	if w < 1 || p.phase != looking && refused && !(p.phase == trying && p.held < p.few) {
		if s.Pace = window.CatchUp; p.many(p.early) {
			s.Pace = window.Spaced
		}
		if p.lasts > p.few {
			s.Pace = window.Waits
		}
	}
	return s
}

func (p *probe) success(now, w float64, a window.End) float64 {
	since := now - p.succeeded
	if since < 1e-9 {
		since = 1e-9
	}
	silence := now - p.quiet
	silent := p.refused > 0 && silence > p.trip
	if silent && p.refused > p.few {
		w = p.ended(now, w)
	}
	p.spell.taken++
	p.meter.accept(now, since)
	p.sampled(now, a, 0)
	w = p.restored(w, silent, silence)
	switch w = p.looks(now, w, a); {
	case p.phase == trying || p.phase == looking:
	case p.phase == holding && p.full():
		p.cause, p.ceiling = trial, math.Inf(1)
		w = p.try(now, w, p.trip)
	case p.slow:
		p.because(slow)
		p.ceiling = min(p.ceiling, max(1, w))
	case float64(a.Flying+1) > w/2:
		p.because(more)
		w = p.grown(w)
	}
	return w
}

// because notes a cause, if there is no other.
func (p *probe) because(c cause) {
	if p.cause == none {
		p.cause = c
	}
}

// looks is the window after a success, if a look begins or goes on.
func (p *probe) looks(now, w float64, a window.End) float64 {
	if p.phase == looking {
		return p.looked(now, w, a)
	}
	least := p.batch
	if !p.found && p.ceiling <= window.MaxWindow { // a service that refuses says itself where its limit is
		least *= 5
	}
	if !p.block.count(now, a, least) {
		return w
	}
	if p.judge(now, w) && p.phase == cutting && p.own == 0 && w >= 2 {
		return p.halve(now, w)
	}
	if p.found && !p.slow && w >= p.more*p.ceiling { // 1100 slots, exponential: 7 s at most, 17 s with a ceiling of w
		p.ceiling = w * p.stays
	}
	return w
}

// looked is the window after a success in a look: the look ends, goes on, or halves the window again.
func (p *probe) looked(now, w float64, a window.End) float64 {
	if math.IsInf(p.block.began, 1) && float64(a.Flying-1) <= w { // only the half flies
		p.again(now)
	}
	if !p.block.count(now, a, p.batch) {
		return w
	}
	trip, rate := p.block.trips/p.block.answers, p.block.rate(now)
	if rate >= p.stays*p.took {
		p.took, p.flew = max(p.took, rate), w
		if p.ceiling = w; w >= 2 {
			return p.halve(now, w)
		}
	} else { // by Little's law, what the rate before needs at the round trip of the half
		w = min(p.from, w*p.took/rate) / p.stays
		p.ceiling = min(p.ceiling, w)
	}
	p.found = true
	p.phase, p.next, p.shortest, p.least = cutting, now+p.every*(now-p.start), trip, trip
	p.again(now)
	return w
}

func (p *probe) halve(now, w float64) float64 {
	p.phase, p.cause, p.from, p.start = looking, slow, w, now
	p.again(math.Inf(1))
	return min(w, max(2, p.flew)) / 2
}

// grown is the window after one more success: with all that fly, a round trip later.
func (p *probe) grown(w float64) float64 {
	if p.lasts > p.minute && w < 1 { // refused ones use the limit up: no more is sent than a share more
		return min(1, w+w*p.growth*min(1, p.trip))
	}
	past := p.growth * (w - p.ceiling - 0.5)
	if p.lasts > p.few { // as at a limit of requests a second that counts refused ones
		past *= min(1, 2*p.trip)
	}
	grown := w + min(1, max(p.growth*min(1, p.trip), p.ceiling-w, past)/max(1, w))
	if p.found { // past a ceiling that a look found, so far that the next block shows whether it pays
		return max(w, min(grown, p.more*p.ceiling+p.few))
	}
	return grown
}

// restored is the window after a silence, and that of a window which is much too small by Little's law.
func (p *probe) restored(w float64, silent bool, silence float64) float64 {
	if silent {
		p.ceiling = max(p.ceiling, p.before)
	}
	good := p.trip * p.rate
	switch {
	case silent && w < p.before/2:
		w = min(p.initial, p.before/2)
		if silence > 2*p.span() { // a mean over the silence would restore less after each outage
			p.rate = p.before / p.trip
		}
		p.because(back)
	case w < good/2 && p.phase != looking:
		p.ceiling = max(p.ceiling, good)
		w = good
		p.because(more)
	}
	return w
}

// ended is the window after a silence: a limit may have been used up that has been refilled since.
func (p *probe) ended(now, w float64) float64 {
	if n, used := p.spell.end(now, &p.meter); used {
		p.cause = usedUp
		p.before = min(p.before, n)
		w, p.own = min(w, p.before), 0
		p.held, p.ceiling = w, min(p.ceiling, p.before)
		p.open(cutting, now+p.trip)
	}
	p.spell.began, p.spell.taken = now, 0
	return w
}

// refusal is an overload or a timeout.
func (p *probe) refusal(now, w float64, a window.End) float64 {
	if p.refused++; p.refused == 1 {
		p.quiet = max(p.succeeded, now-seconds(a.RTT)) // not the time before, in which nothing was sent
		was := p.before
		if p.before = min(w, p.good(p.succeeded)); p.phase != cutting {
			p.before = max(p.before, p.held)
		}
		if math.IsInf(p.most, 1) && p.spell.taken > p.few { // law-ordinary-up-and-down: 24 times the optimum, without 51
			p.before = max(p.before, was)
		}
	}
	if p.phase == looking {
		w, p.phase = min(w, p.from), cutting
	}
	p.again(now)
	out := p.refused > p.batch
	if !out {
		p.sampled(now, a, 1)
	}
	switch {
	case p.phase == trying:
		return p.tries(now, w)
	case p.holds(w, out):
		p.cause = load
		w = max(p.held, p.cut(now, w, a))
		p.ceiling = max(p.ceiling, p.held)
		return w
	}
	if p.lasts > p.minute && p.full() { // TestHarm: 10 of 2000 services without an end, without 16
		p.lasts = 0
	}
	p.heed(now + p.trip)
	if p.cause = p.taken(out); p.cause == chance || p.cause == own {
		return w
	}
	p.held = max(p.held, min(w, float64(a.Flying)))
	low := min(w, p.held/p.deep)
	held := low >= p.slowest*p.trip || math.IsInf(p.most, 1)
	if w = p.cut(now, w, a); held && !out && w < low {
		w, p.held, p.ceiling = low, low, low
		p.open(holding, now+p.trip)
	}
	return w
}

// sampled counts an answer in the sample: in a trial by the time of sending.
func (p *probe) sampled(now float64, a window.End, refused float64) {
	if p.phase == trying {
		now -= seconds(a.RTT)
	}
	p.sample.count(now, refused)
}

// tries is a refusal in a trial.
func (p *probe) tries(now, w float64) float64 {
	over, busy := p.tried(w, p.refused, now)
	if over && busy {
		p.cause = full
		w = min(w, p.held)
		p.held, p.ceiling, p.half = w, w, w
	}
	if over {
		p.open(cutting, now+p.trip)
	}
	return w
}

// taken is the cause for which a refusal is taken outside of an experiment.
func (p *probe) taken(out bool) cause {
	switch {
	case math.IsInf(p.ceiling, 1) && p.own == 0 && !p.many(p.share):
		return chance
	case !out && p.expected():
		return own
	case out:
		return outage
	}
	return load
}

// cut is the window after a refusal. The depth below what was taken is what growth makes up
// for in about a second.
func (p *probe) cut(now, w float64, a window.End) float64 {
	good := min(w, p.good(now)) - math.Sqrt(min(1, w)*min(1, p.trip))
	if a.Ignored { // one more of the same burst
		p.ceiling = max(p.half, good, min(p.ceiling, w)-1)
		return min(w, p.ceiling)
	}
	before := min(1, w)
	if w = min(w, max(float64(a.Flying-1), good)); w < 1 {
		least := p.before * p.touch
		if p.refused <= p.batch && p.lasts <= p.few { // company, and no outage: who falls far ends late
			least = p.before / p.few
		}
		w = max(before/2, min(before-before/p.batch, least, p.trip), good)
	}
	p.ceiling, p.half, p.found = w, max(1, w/2), false
	return w
}
