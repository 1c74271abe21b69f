package experiment

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/aimd-go/aimd/sim"
)

// Number is a measure of one run.
type Number struct {
	Value float64
	// AtLeast tells that the run ended before it was known: it is no less.
	AtLeast bool
}

// Range is a measure over several runs.
type Range struct {
	Measure string
	// Applies is false where no run has such a number.
	Applies          bool
	Min, Median, Max Number
}

// ranges are those of all measures.
func ranges(results []sim.Result) []Range {
	var all []Range
	for i, m := range results[0].Measures() {
		var numbers []Number
		for _, r := range results {
			if x := r.Measures()[i]; x.Applies {
				numbers = append(numbers, Number{x.Value, x.AtLeast})
			}
		}
		all = append(all, newRange(m.Name, numbers))
	}
	return all
}

// newRange puts what is only known from below behind what is known.
func newRange(measure string, numbers []Number) Range {
	if len(numbers) == 0 {
		return Range{Measure: measure}
	}
	slices.SortFunc(numbers, func(a, b Number) int {
		if a.AtLeast != b.AtLeast {
			if b.AtLeast {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Value, b.Value)
	})
	// Of an even number, the lower of the two in the middle: a number that a run had.
	return Range{measure, true, numbers[0], numbers[(len(numbers)-1)/2], numbers[len(numbers)-1]}
}

// typical is the run in the middle.
func typical(results []sim.Result) sim.Result {
	by := func(r sim.Result) float64 {
		if r.Optimum > 0 {
			return r.Makespan.Seconds()
		}
		return float64(r.Attempts)
	}
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b sim.Result) int { return cmp.Compare(by(a), by(b)) })
	return sorted[(len(sorted)-1)/2]
}

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
	switch {
	case v == float64(int64(v)) && v < 1e15:
		return strconv.FormatInt(int64(v), 10)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
