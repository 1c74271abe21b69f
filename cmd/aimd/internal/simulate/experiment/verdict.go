package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
)

// Verdict is the outcome of an expectation.
type Verdict struct {
	scenario.Expectation
	// Got is the measured median; meaningless unless Applies.
	Got     Number
	Applies bool
	// Met reports whether the median is as expected.
	Met bool
	// Problem names the median and the expectation; "" if Met.
	Problem string
}

// Verdicts are the outcomes of all expectations whose rows are there. An expectation holds at each point that has its
// values.
func (s Study) Verdicts() (all []Verdict) {
	points := s.Points()
	for _, e := range s.Expect {
		wanted := e.At
		for _, p := range points {
			if e.At = p.At; !p.Has(wanted) {
				continue
			}
			if v, there := s.verdict(e); there {
				all = append(all, v)
			}
		}
	}
	return all
}

// verdict is the outcome of an expectation at its one point, and false if a row is not there.
func (s Study) verdict(e scenario.Expectation) (Verdict, bool) {
	row, there := s.Row(e.Strategy, e.At)
	var others []Row
	for _, name := range e.Others() {
		other, known := s.Row(name, e.At)
		others, there = append(others, other), there && known
	}
	if !there {
		return Verdict{}, false
	}
	r := row.Ranges[e.Measure]
	v := Verdict{Expectation: e, Got: r.Median, Applies: r.Applies}
	if len(others) > 0 {
		least := math.Inf(1)
		for _, other := range others {
			if by := other.Ranges[e.Measure]; by.Applies && !by.Median.AtLeast {
				least = min(least, by.Median.Value)
			}
		}
		v.Applies = r.Applies && least > 0 && !math.IsInf(least, 1)
		v.Got.Value /= least
	}
	v.Met = v.Applies && met(e, v.Got)
	if !v.Met {
		name := v.Name(func(s string) string { return s })
		v.Problem = fmt.Sprintf("%s is %s, want %s", name, v.Shown(), want(e))
	}
	return v, true
}

// met compares. A lower bound of a measure meets no upper bound.
func met(e scenario.Expectation, got Number) bool {
	switch {
	case e.Never:
		return got.AtLeast
	case e.Is != nil:
		return !got.AtLeast && e.Within.Allows(got.Value, *e.Is)
	}
	return (e.AtLeast == nil || got.Value >= *e.AtLeast) && (e.AtMost == nil || !got.AtLeast && got.Value <= *e.AtMost)
}

// Name names the strategy, the measure and the point: label returns the name of a measure or a field.
func (v Verdict) Name(label func(string) string) string {
	s := v.Strategy + ": " + label(v.Measure)
	if v.Over != "" {
		s += " over that of " + v.Over
	}
	for i, at := range v.At {
		field, x, _ := strings.Cut(at, "=")
		s += []string{" at ", " and "}[min(i, 1)] + label(field) + " " + x
	}
	return s
}

// Shown is the median as text.
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
	case e.Is != nil && e.Within == "":
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

// Number is a measure of one run.
type Number struct {
	Value float64
	// AtLeast says that the run ended before the number was known: it is a lower bound.
	AtLeast bool
}

// Range is a measure over several runs. The zero Range is of a measure that applies to none.
type Range struct {
	Applies bool   `json:"-"`
	Min     Number `json:"min"`
	Median  Number `json:"median"`
	Max     Number `json:"max"`
}

// ranges are the ranges of the measures that apply.
func ranges(results []sim.Result) map[string]Range {
	numbers := map[string][]Number{}
	for _, r := range results {
		for _, m := range r.Measures() {
			if m.Applies {
				numbers[m.Name] = append(numbers[m.Name], Number{m.Value, m.AtLeast})
			}
		}
	}
	all := map[string]Range{}
	for measure, several := range numbers {
		all[measure] = newRange(several)
	}
	return all
}

// newRange is the range of one number or more. Lower bounds are behind the known numbers.
func newRange(numbers []Number) Range {
	slices.SortFunc(numbers, func(a, b Number) int {
		switch {
		case a.AtLeast == b.AtLeast:
			return cmp.Compare(a.Value, b.Value)
		case b.AtLeast:
			return -1
		}
		return 1
	})
	// Of an even number, the lower of the two in the middle: a number that a run had.
	return Range{true, numbers[0], numbers[(len(numbers)-1)/2], numbers[len(numbers)-1]}
}

// typical is the index of the run in the middle.
func typical(results []sim.Result) int {
	by := func(r sim.Result) float64 {
		if r.Optimum > 0 {
			return r.Makespan.Seconds()
		}
		return float64(r.Attempts)
	}
	runs := make([]int, len(results))
	for i := range runs {
		runs[i] = i
	}
	slices.SortStableFunc(runs, func(a, b int) int { return cmp.Compare(by(results[a]), by(results[b])) })
	return runs[(len(runs)-1)/2]
}

// MarshalJSON is the number alone, the bound if no more is known.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// String is the number as tables have it: at least three digits that count.
func (n Number) String() string {
	s := Show(n.Value)
	if n.AtLeast {
		return "> " + s
	}
	return s
}

// Show is a number as tables have it.
func Show(v float64) string {
	if v == float64(int64(v)) && v < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	for digits, from := range []float64{100, 10, 0.1} {
		if v >= from {
			return strconv.FormatFloat(v, 'f', digits, 64)
		}
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
