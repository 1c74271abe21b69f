package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/setting"
)

// Bounds, our choice: every scenario ends in a time that a user would wait.
const (
	maxPoints = 1000
	maxName   = 64
	maxRuns   = 10_000
)

// Measures are the names of the measures of a run, as they stand in files.
var Measures = sync.OnceValue(func() (names []string) {
	r, _ := sim.Run(sim.Scenario{}, sim.Strategy{}, 0) // any run has all
	for _, m := range r.Measures() {
		names = append(names, m.Name)
	}
	return names
})

// check finds the problems that no single field has.
func (s Scenario) check(d *decoder) {
	var all interface{ Unwrap() []error }
	if errors.As(s.Validate(s.Strategies...), &all) {
		for _, err := range all.Unwrap() {
			var wrong *setting.Error
			if errors.As(err, &wrong) {
				d.fail(wrong.Name, "%s", strings.TrimPrefix(wrong.Error(), wrong.Name+": "))
			}
		}
		return
	}
	d.word("name", s.Name)
	d.need(s.Runs >= 1 && s.Runs <= maxRuns, "runs", "%d is not allowed, want a number from 0 to %d", s.Runs, maxRuns)
	if d.sweep(s); len(d.errs) > 0 {
		return
	}
	strategies := Names(s.Strategies)
	for i, name := range strategies {
		path := fmt.Sprintf("strategies[%d].name", i)
		d.need(name != "", path, `"" is not allowed, want a name`)
		d.need(slices.Index(strategies, name) == i, path, "%s is not allowed, want another name: a strategy before has that one", name)
	}
	for i, p := range s.Plot {
		path := fmt.Sprintf("plot[%d]", i)
		d.plot(path, p, len(s.Sweep), strategies)
		taken := slices.ContainsFunc(s.Plot[:i], func(q Plot) bool { return q.Name == p.Name && q.Kind == p.Kind })
		d.need(!taken, path+".name", "%q is the name of another plot; give this one its own, figures are files", p.Name)
	}
	points := s.Points()
	for i, e := range s.Expect {
		d.expectation(fmt.Sprintf("expect[%d]", i), e, points, strategies)
	}
}

// need fails unless a condition holds.
func (d *decoder) need(holds bool, path, problem string, args ...any) {
	if !holds {
		d.fail(path, problem, args...)
	}
}

var word = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// word checks a part of a file's name.
func (d *decoder) word(path, s string) {
	d.need(word.MatchString(s) && len(s) <= maxName, path,
		"%q is not allowed, want up to %d of a-z, 0-9, '-' and '.', with a letter or digit first", s, maxName)
}

func (d *decoder) oneOf(path string, allowed []string, given ...string) {
	for _, s := range given {
		d.need(slices.Contains(allowed, s), path, "%q is not allowed, want one of %s", s, strings.Join(allowed, ", "))
	}
}

var swept = regexp.MustCompile(`^(server|clients|horizon)($|\.)|^strategies\[`)

// sweep checks that every value fits its field and makes a scenario.
func (d *decoder) sweep(s Scenario) {
	d.need(len(s.Sweep) <= 2, "sweep", "%d sweeps are not allowed, want 1 or 2", len(s.Sweep))
	points := 1
	for i, w := range s.Sweep {
		path := fmt.Sprintf("sweep[%d]", i)
		points *= len(w.Values)
		d.need(points > 0 && points <= maxPoints, path+".values", "%d values are not allowed, want 1 or more, and %d points in all at the most", len(w.Values), maxPoints)
		for _, field := range w.Fields() {
			d.need(swept.MatchString(field), path+".field", "%q is not allowed, want a field of server, clients or strategies, like server.slots", field)
		}
		if len(d.errs) > 0 {
			return
		}
		for j, v := range w.Values {
			at := fmt.Sprintf("%s.values[%d]", path, j)
			d.need(slices.Index(w.Values, v) == j, at, "%s is there twice", v)
			var one decoder
			point := s
			w.assign(&one, &point, v)
			err := errors.Join(append(one.errs, point.Validate(point.Strategies...))...)
			if err != nil {
				d.fail(at, "%s: %s", v, strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			d.need(len(w.At(v)) == len(w.Fields()), at, "%s is not allowed, want a value for each of %s", v, w.Field)
		}
	}
}

func (d *decoder) plot(path string, p Plot, sweeps int, strategies []string) {
	overTime := []string{Answers, Requests, Window, Load}
	d.oneOf(path+".kind", append(overTime, Delays, Curve, Map), p.Kind)
	d.oneOf(path+".strategies", strategies, p.Strategies...)
	if p.Name != "" {
		d.word(path+".name", p.Name)
	}
	needed := map[string]int{Curve: 1, Map: 2}[p.Kind]
	d.need(needed == sweeps || needed == 0 && sweeps == 1, path+".kind", "%s is not allowed with %d sweeps: curve needs one, map two", p.Kind, sweeps)
	d.need((needed > 0) == (p.Measure != ""), path+".measure", "%q is not allowed: curve and map need a measure, other kinds have none", p.Measure)
	if p.Measure != "" {
		d.oneOf(path+".measure", Measures(), p.Measure)
	}
	d.need(p.Kind != Map || len(p.Strategies) == 2, path+".strategies", "%d strategies are not allowed, a map shows the measure of the first over that of the second", len(p.Strategies))
	d.need(min(p.From, p.Per) >= 0 && p.Top >= 0 && p.Top <= 1e12 && (p.To == 0 || p.To > p.From), path,
		"from %v to %v per %v, top %v is not allowed, want numbers from 0, and to after from", p.From, p.To, p.Per, p.Top)
	d.need(len(p.Notes) == 0 || slices.Contains(overTime, p.Kind), path+".notes", "is not allowed: only figures over time have notes")
}

func (d *decoder) expectation(path string, e Expectation, points []Point, strategies []string) {
	d.oneOf(path+".strategy", strategies, e.Strategy)
	d.oneOf(path+".measure", Measures(), e.Measure)
	d.oneOf(path+".over", strategies, e.Others()...)
	exact, bounded := e.Is != nil, e.AtLeast != nil || e.AtMost != nil
	one := exact != bounded != e.Never && !(exact && bounded && e.Never)
	d.need(one, path, "want either is, or at_least or at_most or both, or never: true")
	_, err := e.Within.off(0)
	d.need(err == nil, path+".within", "%v", err)
	d.need(exact || e.Within == "", path+".within", "%v is not allowed without is", e.Within)
	known := slices.ContainsFunc(points, func(p Point) bool { return p.Has(e.At) })
	d.need(known, path+".at", "%q is no point of the sweep, want one like %q", e.At, points[0].At)
}
