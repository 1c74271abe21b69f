package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/sim"
)

// Bounds. Our choice: every scenario ends in a time that somebody would wait.
const (
	maxPoints = 1000
	maxName   = 64
)

// Measures are the names of what a run is measured by, as they stand in files.
func Measures() (names []string) {
	for _, m := range (sim.Result{}).Measures() {
		names = append(names, m.Name)
	}
	return names
}

// checker knows what fields may refer to.
type checker struct {
	*decoder
	strategies []string
	measures   []string
	points     []Point
	sweeps     int
}

// check finds what no field can know by itself.
func (s Scenario) check(d *decoder) {
	if all := fieldErrors(s.Validate()); len(all) > 0 {
		for _, e := range all {
			d.fail(d.line(e.Path), e.Path, "%s", e.Problem)
		}
		return
	}
	c := checker{decoder: d, measures: Measures(), sweeps: len(s.Sweep)}
	for _, x := range s.WithDefaults().Strategies {
		c.strategies = append(c.strategies, x.Name)
	}
	c.word("name", s.Name)
	if c.sweep(s); len(d.errs) > 0 {
		return
	}
	c.points = s.Points()
	for i, p := range s.Plot {
		c.plot(fmt.Sprintf("plot[%d]", i), p)
		for j, other := range s.Plot[:i] {
			if p.Name == other.Name && p.Kind == other.Kind {
				c.at(fmt.Sprintf("plot[%d].name", i), "%q is that of plot[%d] too; give it another, figures are files", p.Name, j)
			}
		}
	}
	for i, e := range s.Expect {
		c.expectation(fmt.Sprintf("expect[%d]", i), e)
	}
}

// fieldErrors are the errors that a scenario's joins.
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

func (c checker) at(path, format string, args ...any) {
	c.fail(c.line(path), path, format, args...)
}

var word = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// word checks what becomes part of a file's name.
func (c checker) word(path, s string) {
	if !word.MatchString(s) || len(s) > maxName {
		c.at(path, "%q is not allowed, want up to %d of a-z, 0-9, '-' and '.', with a letter or digit first", s, maxName)
	}
}

func (c checker) oneOf(path, s string, allowed []string) {
	if !slices.Contains(allowed, s) {
		c.at(path, "%q is not allowed, want one of %s", s, strings.Join(allowed, ", "))
	}
}

// sweep checks that every value can be put into its field and makes a scenario.
func (c checker) sweep(s Scenario) {
	if len(s.Sweep) > 2 {
		c.at("sweep", "%d sweeps are not allowed, want 1 or 2", len(s.Sweep))
		return
	}
	n := 1
	for i, w := range s.Sweep {
		path := fmt.Sprintf("sweep[%d]", i)
		if n *= len(w.Values); n == 0 || n > maxPoints {
			c.at(path+".values", "%d values are not allowed, want 1 or more, and %d points in all at the most", len(w.Values), maxPoints)
			return
		}
		if root, _, _ := strings.Cut(w.Field, "."); !slices.Contains([]string{"server", "clients", "horizon"}, root) && !strings.HasPrefix(root, "strategies[") {
			c.at(path+".field", "%q is not allowed, want a field of server, clients or strategies, like server.slots", w.Field)
			continue
		}
		for j, v := range w.Values {
			if slices.Index(w.Values, v) < j {
				c.at(fmt.Sprintf("%s.values[%d]", path, j), "%s is there twice", v)
				continue
			}
			c.sweepValue(s, fmt.Sprintf("%s.values[%d]", path, j), w.Field, v)
		}
	}
}

func (c checker) sweepValue(s Scenario, path, field, v string) {
	one := decoder{lines: map[string]int{}}
	point := s.with(&one, field, v)
	for _, e := range one.errs {
		c.at(path, "%s: %s", field, e.Problem)
	}
	if len(one.errs) > 0 {
		return
	}
	if all := fieldErrors(point.Validate()); len(all) > 0 {
		c.at(path, "%s: %v", v, all[0])
	}
}

func (c checker) plot(path string, p Plot) {
	c.oneOf(path+".kind", p.Kind, []string{Answers, Requests, Window, Load, Delays, Curve, Map})
	if p.Name != "" {
		c.word(path+".name", p.Name)
	}
	for i, s := range p.Strategies {
		c.oneOf(fmt.Sprintf("%s.strategies[%d]", path, i), s, c.strategies)
	}
	if p.Measure != "" {
		c.oneOf(path+".measure", p.Measure, c.measures)
	}
	if p.From < 0 || p.To < 0 || p.To != 0 && p.To <= p.From {
		c.at(path+".to", "from %v to %v is not allowed, want from 0 or later to a time after it, or leave them out", p.From, p.To)
	}
	if p.Per < 0 {
		c.at(path+".per", "%v is not allowed, want a duration from 0s", p.Per)
	}
	if !(p.Top >= 0 && p.Top <= 1e12) {
		c.at(path+".top", "%v is not allowed, want a number from 0", p.Top)
	}
	sweeps := map[string]int{Curve: 1, Map: 2}[p.Kind]
	switch {
	case sweeps != c.sweeps && (sweeps > 0 || c.sweeps > 1):
		c.at(path+".kind", "%s is not allowed with %d sweeps: curve needs one, map two", p.Kind, c.sweeps)
	case sweeps > 0 && p.Measure == "":
		c.at(path+".measure", "is missing; want one of %s", strings.Join(c.measures, ", "))
	case sweeps == 0 && p.Measure != "":
		c.at(path+".measure", "%s is not allowed here, only curve and map show a measure", p.Measure)
	case p.Kind == Map && len(p.Strategies) != 2:
		c.at(path+".strategies", "%d strategies are not allowed, a map shows the measure of the first over that of the second", len(p.Strategies))
	}
}

func (c checker) expectation(path string, e Expectation) {
	c.oneOf(path+".strategy", e.Strategy, c.strategies)
	c.oneOf(path+".measure", e.Measure, c.measures)
	for _, name := range e.Others() {
		c.oneOf(path+".over", name, c.strategies)
	}
	bounded := e.AtLeast != nil || e.AtMost != nil
	given := 0
	for _, x := range []bool{e.Is != nil, bounded, e.Never} {
		if x {
			given++
		}
	}
	if given != 1 {
		c.at(path, "want either is, or at_least or at_most or both, or never: true")
	}
	if e.Is == nil && e.Within != (Tolerance{}) {
		c.at(path+".within", "%v is not allowed without is", e.Within)
	}
	found := len(e.At) == 0 || slices.ContainsFunc(c.points, func(p Point) bool { return slices.Equal(p.At, e.At) })
	switch {
	case found:
	case c.sweeps == 0:
		c.at(path+".at", "%q is not allowed without a sweep", e.At)
	default:
		c.at(path+".at", "%q is no point of the sweep, want one like %q", e.At, c.points[0].At)
	}
}
