package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks are at most so many labelled ticks at multiples of 1, 2 or 5 times a
// power of ten.
func ticks(most int) func(low, high float64) []plot.Tick {
	return func(low, high float64) []plot.Tick {
		step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most))))
		for i := 0; (high-low)/step > float64(most); i++ {
			step *= []float64{2, 2.5, 2}[i%3]
		}
		var all []plot.Tick
		for n := math.Ceil(low / step); n*step <= high; n++ {
			all = append(all, tick(n*step))
		}
		return all
	}
}

// decades are ticks at the powers of ten, with marks at 2 and 5 between them, which have
// labels too where there is one power of ten or two.
func decades(low, high float64) []plot.Tick {
	var all []plot.Tick
	for v := math.Pow(10, math.Floor(math.Log10(low))); v <= high; v *= 10 {
		all = append(all, tick(v))
		for _, between := range []float64{2 * v, 5 * v} {
			if between <= high {
				mark := plot.Tick{Value: between}
				if high/low < 20 {
					mark = tick(between)
				}
				all = append(all, mark)
			}
		}
	}
	return all
}

func tick(v float64) plot.Tick {
	return plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)}
}

type unlabelled struct{ plot.Ticker }

func (u unlabelled) Ticks(low, high float64) []plot.Tick {
	all := u.Ticker.Ticks(low, high)
	for i := range all {
		// A label of nothing would make it a minor tick.
		all[i].Label = " "
	}
	return all
}

// categories are labelled ticks at 0, 1, 2 and so on.
func categories(labels []string) (all plot.ConstantTicks) {
	for i, label := range labels {
		all = append(all, plot.Tick{Value: float64(i), Label: label})
	}
	return all
}
