package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/sim"
)

// Bounds, our choice: every scenario ends in a time that a user would wait.
const (
	maxPoints = 1000
	maxName   = 64
)

// Measures are the names of the measures of a run, as they stand in files.
func Measures() (names []string) {
	for _, m := range (sim.Result{}).Measures() {
		names = append(names, m.Name)
	}
	return names
}

// check finds the problems that no field has by itself.
func (s Scenario) check(d *decoder) {
	for _, e := range fieldErrors(s.Validate()) {
		d.fail(e.Path, "%s", e.Problem)
	}
	if len(d.errs) > 0 {
		return
	}
	d.word("name", s.Name)
	if d.sweep(s); len(d.errs) > 0 {
		return
	}
	var strategies []string
	for _, x := range s.WithDefaults().Strategies {
		strategies = append(strategies, x.Name)
	}
	for i, p := range s.Plot {
		d.plot(fmt.Sprintf("plot[%d]", i), p, len(s.Sweep), strategies)
		if slices.ContainsFunc(s.Plot[:i], func(q Plot) bool { return q.Name == p.Name && q.Kind == p.Kind }) {
			d.fail(fmt.Sprintf("plot[%d].name", i), "%q is the name of another plot; give this one its own, figures are files", p.Name)
		}
	}
	points := s.Points()
	for i, e := range s.Expect {
		d.expectation(fmt.Sprintf("expect[%d]", i), e, points, strategies)
	}
}

// fieldErrors are the errors that an error of package sim joins.
func fieldErrors(err error) (all []*sim.FieldError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			var e *sim.FieldError
			if errors.As(err, &e) {
				all = append(all, e)
			}
		}
	}
	return all
}

var word = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// word checks a part of a file's name.
func (d *decoder) word(path, s string) {
	if !word.MatchString(s) || len(s) > maxName {
		d.fail(path, "%q is not allowed, want up to %d of a-z, 0-9, '-' and '.', with a letter or digit first", s, maxName)
	}
}

func (d *decoder) oneOf(path string, allowed []string, given ...string) {
	for _, s := range given {
		if !slices.Contains(allowed, s) {
			d.fail(path, "%q is not allowed, want one of %s", s, strings.Join(allowed, ", "))
		}
	}
}

var swept = regexp.MustCompile(`^(server|clients|horizon)($|\.)|^strategies\[`)

// sweep checks that every value fits its field and makes a scenario.
func (d *decoder) sweep(s Scenario) {
	if len(s.Sweep) > 2 {
		d.fail("sweep", "%d sweeps are not allowed, want 1 or 2", len(s.Sweep))
		return
	}
	points := 1
	for i, w := range s.Sweep {
		path := fmt.Sprintf("sweep[%d]", i)
		points *= len(w.Values)
		switch {
		case points == 0 || points > maxPoints:
			d.fail(path+".values", "%d values are not allowed, want 1 or more, and %d points in all at the most", len(w.Values), maxPoints)
			return
		case !swept.MatchString(w.Field):
			d.fail(path+".field", "%q is not allowed, want a field of server, clients or strategies, like server.slots", w.Field)
			continue
		}
		for j, v := range w.Values {
			at := fmt.Sprintf("%s.values[%d]", path, j)
			if slices.Index(w.Values, v) < j {
				d.fail(at, "%s is there twice", v)
			}
			var one decoder
			point := s
			one.assign(&point, w.Field, v)
			if err := errors.Join(append(one.errs, point.Validate())...); err != nil {
				d.fail(at, "%s: %v", v, err)
			}
		}
	}
}

func (d *decoder) plot(path string, p Plot, sweeps int, strategies []string) {
	d.oneOf(path+".kind", []string{Answers, Requests, Window, Load, Delays, Curve, Map}, p.Kind)
	d.oneOf(path+".strategies", strategies, p.Strategies...)
	if p.Name != "" {
		d.word(path+".name", p.Name)
	}
	if p.Measure != "" {
		d.oneOf(path+".measure", Measures(), p.Measure)
	}
	if p.From < 0 || p.Per < 0 || !(p.Top >= 0 && p.Top <= 1e12) || p.To != 0 && p.To <= p.From {
		d.fail(path, "from %v to %v per %v, top %v is not allowed, want numbers from 0, and to after from", p.From, p.To, p.Per, p.Top)
	}
	if len(p.Notes) > 0 && slices.Contains([]string{Delays, Curve, Map}, p.Kind) {
		d.fail(path+".notes", "is not allowed: only figures over time have notes")
	}
	needed := map[string]int{Curve: 1, Map: 2}[p.Kind]
	switch {
	case needed != sweeps && (needed > 0 || sweeps > 1):
		d.fail(path+".kind", "%s is not allowed with %d sweeps: curve needs one, map two", p.Kind, sweeps)
	case (needed > 0) != (p.Measure != ""):
		d.fail(path+".measure", "%q is not allowed: curve and map need a measure, other kinds have none", p.Measure)
	case p.Kind == Map && len(p.Strategies) != 2:
		d.fail(path+".strategies", "%d strategies are not allowed, a map shows the measure of the first over that of the second", len(p.Strategies))
	}
}

func (d *decoder) expectation(path string, e Expectation, points []Point, strategies []string) {
	d.oneOf(path+".strategy", strategies, e.Strategy)
	d.oneOf(path+".measure", Measures(), e.Measure)
	d.oneOf(path+".over", strategies, e.Others()...)
	given := 0
	for _, x := range []bool{e.Is != nil, e.AtLeast != nil || e.AtMost != nil, e.Never} {
		if x {
			given++
		}
	}
	if given != 1 {
		d.fail(path, "want either is, or at_least or at_most or both, or never: true")
	}
	if _, err := e.Within.off(0); err != nil {
		d.fail(path+".within", "%v", err)
	} else if e.Is == nil && e.Within != "" {
		d.fail(path+".within", "%v is not allowed without is", e.Within)
	}
	if len(e.At) > 0 && !slices.ContainsFunc(points, func(p Point) bool { return slices.Equal(p.At, e.At) }) {
		d.fail(path+".at", "%q is no point of the sweep, want one like %q", e.At, points[0].At)
	}
}
