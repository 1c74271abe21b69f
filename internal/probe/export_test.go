package probe

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// With is the law with another value for one of its constants, by the name of its field.
func With(constant string, value float64) window.NewLaw {
	n := tuned
	*map[string]*float64{
		"few": &n.few, "sample": &n.sample, "least": &n.least, "forget": &n.forget, "fade": &n.fade, "fall": &n.fall, "more": &n.more,
		"slowest": &n.slowest, "growth": &n.growth, "same": &n.same, "silent": &n.silent, "short": &n.short,
	}[constant] = value
	return func(s window.Settings) window.Law { return with(&n, s) }
}

// Rules are the names of the rules, in their order.
func Rules() (names []string) {
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Without is the law without the rule of that name.
func Without(name string) window.NewLaw {
	r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })]
	n := tuned
	if r.with != nil {
		r.with(&n)
	}
	return func(s window.Settings) window.Law { return &without{with(&n, s), r} }
}

// rule is a rule of the law, and how it is off: by a constant at its end, by what the law finds before an answer, or by
// what is undone after it. So the law itself has no switches.
type rule struct {
	name          string
	with          func(n *numbers)
	before, after func(l *law, x *answered)
}

// answered is an answer, with the law and the state before it, and the state after it.
type answered struct {
	window.End
	now      float64
	was      law
	from, to window.State
}

func (x *answered) undo(l *law) { x.to.Cwnd, l.ceiling = x.from.Cwnd, x.was.ceiling }

// pace sets the pace, unless the window is a rate.
func (x *answered) pace(to window.Pace, instead ...window.Pace) {
	if x.to.Cwnd >= 1 && slices.Contains(instead, x.to.Pace) {
		x.to.Pace = to
	}
}

type without struct {
	*law
	rule rule
}

func (w *without) Answered(at time.Duration, s window.State, a window.End) window.State {
	x := answered{a, seconds(at), *w.law, s, s}
	if w.rule.before != nil {
		w.rule.before(w.law, &x)
	}
	x.to = w.law.Answered(at, s, x.End)
	if w.rule.after != nil {
		w.rule.after(w.law, &x)
	}
	return x.to
}

var rules = []rule{
	{name: "allowance", after: func(l *law, _ *answered) { l.allowed = 0 }},
	{name: "cut", after: func(l *law, _ *answered) { l.rate = min(l.rate, 1e-3) }}, // nearly nothing is accepted, as the law sees it
	{name: "hold", before: func(l *law, _ *answered) { l.best = 1e-9 }},            // so no window falls to a part of it
	{name: "growth", with: func(n *numbers) { n.growth = 0.01 }},
	{name: "slow", before: func(l *law, _ *answered) { l.quickest = math.Inf(1) }},
	{name: "spacing", after: func(_ *law, x *answered) { x.pace(window.AtOnce, window.Spaced, window.CatchUp) }},
	{name: "floor", after: func(l *law, x *answered) {
		if x.Outcome.Overloaded() && x.to.Cwnd < 1 {
			x.to.Cwnd = min(1, x.from.Cwnd)
		}
	}},
	{name: "back", after: func(l *law, x *answered) {
		if l.cause == back {
			x.undo(l)
		}
	}},
	{name: "used up", before: func(l *law, _ *answered) { l.taken = 0 }},
	{name: "metered", after: func(l *law, _ *answered) { l.metered = false }},
}
