package experiment

import (
	"fmt"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// Verdict is what became of an expectation.
type Verdict struct {
	scenario.Expectation
	// Got is the median that was found; meaningless unless Applies.
	Got     Number
	Applies bool
	// Met tells whether it is as expected.
	Met bool
	// Problem says what is not; "" if Met.
	Problem string
}

// Verdicts are those of all the expectations whose rows are there: all of them,
// unless the study was interrupted. What is expected without a point is expected
// at each.
func (s Study) Verdicts() []Verdict {
	var all []Verdict
	for _, e := range s.expected() {
		row, there := s.Row(e.Strategy, e.At)
		over, overThere := row, there
		if e.Over != "" {
			over, overThere = s.Row(e.Over, e.At)
		}
		if there && overThere {
			all = append(all, newVerdict(e, row, over))
		}
	}
	return all
}

// expected are the expectations, each at its point.
func (s Study) expected() (all []scenario.Expectation) {
	for _, e := range s.Expect {
		if len(e.At) > 0 {
			all = append(all, e)
			continue
		}
		for _, p := range s.Points() {
			e.At = p.At
			all = append(all, e)
		}
	}
	return all
}

func newVerdict(e scenario.Expectation, row, over Row) Verdict {
	r := row.Of(e.Measure)
	v := Verdict{Expectation: e, Got: r.Median, Applies: r.Applies}
	if e.Over != "" {
		by := over.Of(e.Measure)
		v.Applies = r.Applies && by.Applies && !by.Median.AtLeast && by.Median.Value > 0
		v.Got.Value /= by.Median.Value
	}
	v.Met = v.Applies && met(e, v.Got)
	if !v.Met {
		v.Problem = fmt.Sprintf("%s is %s, want %s", v.Name(), v.Shown(), want(e))
	}
	return v
}

// met compares. What is only known from below meets no upper bound.
func met(e scenario.Expectation, got Number) bool {
	switch {
	case e.Never:
		return got.AtLeast
	case e.Is != nil:
		return !got.AtLeast && e.Within.Allows(got.Value, *e.Is)
	}
	return (e.AtLeast == nil || got.Value >= *e.AtLeast) && (e.AtMost == nil || !got.AtLeast && got.Value <= *e.AtMost)
}

// Name is what the expectation is about.
func (v Verdict) Name() string {
	s := v.Strategy + ": " + v.Measure
	if v.Over != "" {
		s += " over that of " + v.Over
	}
	if len(v.At) > 0 {
		s += " at " + strings.Join(v.At, ", ")
	}
	return s
}

// Shown is what was found.
func (v Verdict) Shown() string {
	if !v.Applies {
		return "not there"
	}
	return v.Got.String()
}

func want(e scenario.Expectation) string {
	switch {
	case e.Never:
		return "no end to it"
	case e.Is != nil && e.Within == scenario.Tolerance{}:
		return fmt.Sprint(*e.Is)
	case e.Is != nil:
		return fmt.Sprintf("%v within %v", *e.Is, e.Within)
	case e.AtLeast == nil:
		return fmt.Sprintf("at most %v", *e.AtMost)
	case e.AtMost == nil:
		return fmt.Sprintf("at least %v", *e.AtLeast)
	}
	return fmt.Sprintf("%v to %v", *e.AtLeast, *e.AtMost)
}
