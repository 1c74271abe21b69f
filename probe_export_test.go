package aimd

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// ProbeWith is Probe with another value for one of its constants, by the name of its field.
func ProbeWith(constant string, value float64) window.NewLaw {
	t := tuned
	*map[string]*float64{
		"growth": &t.growth, "few": &t.few, "touch": &t.touch, "batch": &t.batch, "fall": &t.fall, "more": &t.more,
		"reach": &t.reach, "learn": &t.learn, "slowest": &t.slowest, "stays": &t.stays, "every": &t.every,
		"minute": &t.minute,
	}[constant] = value
	return func(s window.Settings) window.Law { return newProbe(s, &t) }
}

// ProbeRules are the names of the rules, in their order.
func ProbeRules() (names []string) {
	for _, r := range probeRules {
		names = append(names, r.name)
	}
	return names
}

// ProbeWithout is Probe without the rule of that name.
func ProbeWithout(name string) window.NewLaw {
	r := probeRules[slices.IndexFunc(probeRules, func(r probeRule) bool { return r.name == name })]
	t := tuned
	if r.with != nil {
		r.with(&t)
	}
	return func(s window.Settings) window.Law { return &probeWithout{newProbe(s, &t), r} }
}

// probeRule is a rule of Probe, and how it is off: by a constant at its end, by what the law finds before an answer, or by
// what is undone after it. So the law itself has no switches.
type probeRule struct {
	name          string
	with          func(t *tuning)
	before, after func(p *probe, x *answered)
}

// answered is an answer, with the law and the state before it, and the state after it.
type answered struct {
	window.End
	now      float64
	was      probe
	from, to window.State
}

// cut reports whether the answer is a refusal that cut the window outside of an experiment.
func (x *answered) cut(p *probe) bool {
	return x.Outcome.Overloaded() && x.to.Cwnd < x.from.Cwnd && p.phase == cutting && x.was.phase == cutting
}

func (x *answered) undo(p *probe) { x.to.Cwnd, p.ceiling = x.from.Cwnd, x.was.ceiling }

type probeWithout struct {
	*probe
	rule probeRule
}

func (w *probeWithout) Answered(at time.Duration, s window.State, a window.End) window.State {
	x := answered{a, seconds(at), *w.probe, s, s}
	if w.rule.before != nil {
		w.rule.before(w.probe, &x)
	}
	x.to = w.probe.Answered(at, s, x.End)
	if w.rule.after != nil {
		w.rule.after(w.probe, &x)
	}
	return x.to
}

var probeRules = []probeRule{
	{name: "chance", after: func(p *probe, _ *answered) { p.share = max(p.share, 1) }},
	{name: "cut", after: func(p *probe, _ *answered) { p.rate = min(p.rate, 1e-3) }}, // nearly nothing is accepted, as the law sees it
	{name: "margin", after: func(p *probe, x *answered) {
		if good := min(x.from.Cwnd, p.good(x.now)); x.cut(p) && !x.Ignored && good > x.to.Cwnd {
			x.to.Cwnd, p.ceiling = good, max(p.ceiling, good)
		}
	}},
	{name: "burst", after: func(p *probe, x *answered) {
		if x.cut(p) && x.Ignored {
			x.undo(p)
		}
	}},
	{name: "growth", with: func(t *tuning) { t.growth = 0.01 }},
	{name: "faster", after: func(p *probe, x *answered) {
		if p.cause == more && x.from.Cwnd > p.ceiling && x.to.Cwnd > x.from.Cwnd {
			x.to.Cwnd = min(x.to.Cwnd, x.from.Cwnd+p.growth*min(1, p.trip)/max(1, x.from.Cwnd))
		}
	}},
	{name: "used", after: func(p *probe, x *answered) {
		if p.cause == none && x.Outcome.Accepted() && p.phase == cutting && !p.slow {
			x.to.Cwnd = p.grown(x.to.Cwnd)
		}
	}},
	{name: "lift", after: func(p *probe, x *answered) {
		if p.cause == more && x.to.Cwnd > x.from.Cwnd+1.001 { // growth is one at most
			x.undo(p)
		}
	}},
	{name: "hold", with: func(t *tuning) { t.fall = math.Inf(1) }},
	{name: "paid", before: func(p *probe, _ *answered) { p.earlier = math.NaN() }}, // no odds are more or less than that
	{name: "rare", with: func(t *tuning) { t.slowest = 0 }},
	{name: "trial", with: func(t *tuning) { t.reach = 1 }},
	{name: "small trial", after: func(p *probe, x *answered) {
		if p.phase == trying {
			x.pace(window.CatchUp, window.AtOnce)
		}
	}},
	{name: "own", after: func(p *probe, _ *answered) {
		if p.phase == cutting {
			p.own = 0
		}
	}},
	{name: "slow", before: func(p *probe, _ *answered) { p.shortest = math.Inf(1) }},
	{name: "look", before: func(p *probe, _ *answered) { p.next = math.Inf(1) }},
	{name: "spacing", after: func(_ *probe, x *answered) { x.pace(window.AtOnce, window.Spaced, window.CatchUp, window.Waits) }},
	{name: "catch up", after: func(_ *probe, x *answered) { x.pace(window.Spaced, window.CatchUp) }},
	{name: "early", after: func(_ *probe, x *answered) { x.pace(window.CatchUp, window.Spaced) }},
	{name: "floor", with: func(t *tuning) { t.touch = 1 }},
	{name: "back", after: func(p *probe, x *answered) {
		if p.cause == back {
			x.undo(p)
		}
	}},
	{name: "used up", before: func(p *probe, _ *answered) { p.spell.taken = 0 }},
	{name: "up and down", before: func(p *probe, _ *answered) { p.most = 0 }},
	{name: "timeouts", before: func(_ *probe, x *answered) {
		if x.Outcome == window.Timeout {
			x.Outcome = window.Overload
		}
	}},
	{name: "lasting", after: func(p *probe, _ *answered) { p.lasts = 0 }},
}

// pace sets the pace instead of another, unless the window is a rate.
func (x *answered) pace(to window.Pace, instead ...window.Pace) {
	if x.to.Cwnd >= 1 && slices.Contains(instead, x.to.Pace) {
		x.to.Pace = to
	}
}
