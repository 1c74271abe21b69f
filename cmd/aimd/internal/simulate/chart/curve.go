package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/sim"
)

const singleHeight = 3.6 * vg.Inch

func label(name string) string {
	if w, ok := names.Words[name]; ok {
		return w
	}
	s, seconds := strings.CutSuffix(name, "_s")
	s = strings.ReplaceAll(s, "_", " ")
	if seconds {
		s += " (s)"
	}
	return s
}

func sweepLabel(w scenario.Sweep) string {
	l := label(w.Field)
	_, plain := strconv.ParseFloat(w.Values[0], 64)
	if _, err := time.ParseDuration(w.Values[0]); err == nil && plain != nil && !strings.HasSuffix(l, "(s)") {
		l += " (s)"
	}
	return l
}

func number(s string) (float64, bool) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v, true
	}
	d, err := time.ParseDuration(s)
	return d.Seconds(), err == nil
}

// places are where the values of a sweep stand on their axis.
func places(values []string, logarithmic bool) (at []float64, axis figure.Axis) {
	for _, s := range values {
		v, ok := number(s)
		if !ok || logarithmic && v <= 0 {
			for i := range values {
				at = append(at[:i], float64(i))
			}
			return at, figure.Axis{Labels: values}
		}
		at = append(at, v)
	}
	least, most := slices.Min(at), slices.Max(at)
	if logarithmic {
		return at, figure.Axis{Min: least / 1.15, Max: most * 1.15, Log: true}
	}
	return at, figure.Axis{Min: min(0, least), Max: most * 1.03}
}

// curve is a measure of each strategy over the values of the sweep: the median, and
// a bar from the least to the most.
func (d drawing) curve() figure.Figure {
	sweep := d.Sweep[0]
	at, x := places(sweep.Values, d.LogX)
	f := figure.Figure{X: sweepLabel(sweep), Y: label(d.Measure), PanelHeight: singleHeight}
	p := figure.NewPanel("", x, d.measureAxis())
	if runs := d.WithDefaults().Runs; runs > 1 {
		f.Note = fmt.Sprintf("the median of %d runs; bars: their least and most", runs)
	}
	for i, s := range d.strategies() {
		c := figure.Nth(s, i)
		var xys figure.Points
		var ends [][2]float64
		for j, v := range sweep.Values {
			row, ok := d.Row(s, []string{sweep.Field + "=" + v})
			if !ok || !row.Of(d.Measure).Applies {
				continue
			}
			r := row.Of(d.Measure)
			xys = append(xys, figure.Point{X: at[j], Y: r.Median.Value})
			ends = append(ends, [2]float64{r.Min.Value, r.Max.Value})
		}
		p.Line(c, xys)
		p.Bars(c, xys, ends)
		f.Legend = append(f.Legend, c)
	}
	f.Panels = []*figure.Panel{p}
	return f
}

func (d drawing) strategies() []string {
	var all []string
	for _, r := range d.rows {
		if !slices.Contains(all, r.Strategy.Name) {
			all = append(all, r.Strategy.Name)
		}
	}
	return all
}

func (d drawing) measureAxis() figure.Axis {
	var values []float64
	for _, r := range d.rows {
		if x := r.Of(d.Measure); x.Applies {
			values = append(values, x.Min.Value, x.Max.Value)
		}
	}
	least, most := extent(values)
	a := figure.Axis{Max: most * 1.06}
	if d.LogY {
		a = figure.Axis{Min: least / 1.3, Max: most * 1.3, Log: true}
	}
	if d.Top > 0 {
		a.Max = d.Top
	}
	return a
}

// extent is the least and the most of the values that are greater than 0, and something
// to draw an axis by where none is.
func extent(values []float64) (least, most float64) {
	values = slices.DeleteFunc(values, func(v float64) bool { return v <= 0 })
	if len(values) == 0 {
		return 0.1, 1
	}
	return slices.Min(values), slices.Max(values)
}

// heat is a measure of the first strategy over that of the second, over two sweeps.
func (d drawing) heat() figure.Figure {
	first, second := d.Plot.Strategies[0], d.Plot.Strategies[1]
	rows, columns := d.Sweep[0], d.Sweep[1]
	f := figure.Figure{
		X: label(columns.Field), Y: label(rows.Field), PanelHeight: vg.Length(len(rows.Values))*0.5*vg.Inch + 0.4*vg.Inch,
		Note: label(d.Measure) + ": " + first + " divided by " + second,
		Legend: []figure.Curve{
			figure.Line("lower with "+second, figure.Blue, 14),
			figure.Line("lower with "+first, figure.Vermillion, 14),
		},
	}
	p := figure.NewPanel("", figure.Axis{Labels: columns.Values}, figure.Axis{Labels: rows.Values})
	var cells []figure.Cell
	for i, v := range rows.Values {
		for j, w := range columns.Values {
			at := []string{rows.Field + "=" + v, columns.Field + "=" + w}
			if r, ok := d.ratio(first, second, at); ok {
				cells = append(cells, figure.Cell{Column: j, Row: i, Text: times(r), Tone: math.Log(r) / math.Log(8)})
			}
		}
	}
	p.Cells(cells)
	f.Panels = []*figure.Panel{p}
	return f
}

func times(r float64) string {
	if r >= 9.995 {
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return strconv.FormatFloat(r, 'f', 2, 64)
}

func (d drawing) ratio(first, second string, at []string) (float64, bool) {
	a, aThere := d.Row(first, at)
	b, bThere := d.Row(second, at)
	if !aThere || !bThere {
		return 0, false
	}
	x, y := a.Of(d.Measure), b.Of(d.Measure)
	r := x.Median.Value / y.Median.Value
	return r, x.Applies && y.Applies && y.Median.Value > 0 && r > 0
}

// mostWaits is how many waits are drawn at most, of what never gives up.
const mostWaits = 20

// delays are the waits of one operation that never succeeds, before each attempt.
func (d drawing) delays() figure.Figure {
	f := figure.Figure{X: "number of the attempt", Y: "wait before it (s)", PanelHeight: singleHeight}
	all := make([][]time.Duration, len(d.rows))
	last, least, longest := 0, backoff.MaxDelay, time.Millisecond
	for i, r := range d.rows {
		all[i] = waits(r.Strategy.Retry, d.Seed)
		last = max(last, len(all[i])+1)
		for _, w := range all[i] {
			least, longest = min(least, max(w, time.Microsecond)), max(longest, w)
		}
	}
	y := figure.Axis{Max: longest.Seconds() * 1.06}
	if d.LogY {
		y = figure.Axis{Min: least.Seconds() / 1.3, Max: longest.Seconds() * 1.5, Log: true}
	}
	p := figure.NewPanel("", figure.Axis{Min: 1, Max: float64(last) + 0.5}, y)
	for i, w := range all {
		c := figure.Nth(d.rows[i].Strategy.Name, i)
		var xys figure.Points
		for j, wait := range w {
			xys = append(xys, figure.Point{X: float64(j + 2), Y: wait.Seconds()})
		}
		p.Line(c, xys)
		f.Legend = append(f.Legend, c)
	}
	f.Panels = []*figure.Panel{p}
	return f
}

// waits are those before the retries of an operation that never succeeds.
func waits(r sim.Retry, seed uint64) []time.Duration {
	b := r.Delays()
	if b == nil {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var all []time.Duration
	var last, elapsed time.Duration
	for i := 1; i <= mostWaits; i++ {
		w, again := b.Delay(backoff.State{Retry: i, Last: last, Elapsed: elapsed}, random)
		if !again {
			break
		}
		all = append(all, w)
		last, elapsed = w, elapsed+w
	}
	return all
}
