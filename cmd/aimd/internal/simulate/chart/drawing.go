package chart

import (
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/sim"
)

// drawing is a figure of a study with the rows that it shows.
type drawing struct {
	experiment.Study
	scenario.Plot
	rows []experiment.Row
}

// Figures draws the figures of the scenario, as far as its rows are there.
func Figures(s experiment.Study) (all []figure.Figure) {
	for _, p := range plots(s) {
		d := drawing{Study: s, Plot: p}
		for _, r := range s.Rows {
			if len(p.Strategies) == 0 || slices.Contains(p.Strategies, r.Strategy.Name) {
				d.rows = append(d.rows, r)
			}
		}
		switch p.Kind {
		case scenario.Window:
			d.rows = slices.DeleteFunc(d.rows, func(r experiment.Row) bool { return r.Strategy.Window.MakeLaw() == nil })
		case scenario.Delays:
			d.rows = slices.DeleteFunc(d.rows, func(r experiment.Row) bool { return r.Strategy.Retry.Delays() == nil })
		}
		if len(d.rows) == 0 {
			continue
		}
		draw := map[string]func(drawing) figure.Figure{scenario.Delays: drawing.delays, scenario.Curve: drawing.curve, scenario.Map: drawing.heat}[p.Kind]
		if draw == nil {
			draw = drawing.overTime
		}
		f := draw(d)
		f.Name, f.Caption = strings.Trim(s.Name+"-"+p.Name, "-"), p.Caption
		all = append(all, f)
	}
	return all
}

// plots returns the figures of the scenario, or the usual figures.
func plots(s experiment.Study) []scenario.Plot {
	switch {
	case len(s.Plot) > 0:
		return s.Plot
	case len(s.Sweep) == 0:
		return []scenario.Plot{{Name: "answers", Kind: scenario.Answers, LogY: true}, {Name: "cwnd", Kind: scenario.Window}}
	case len(s.Sweep) == 1:
		return []scenario.Plot{{Name: "attempts", Kind: scenario.Curve, Measure: "attempts_per_op"}, {Name: "p99", Kind: scenario.Curve, Measure: "p99_s"}}
	}
	return nil
}

// label returns the name of a measure or a field on an axis, with its unit.
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

// sweepAxis returns the axis of a sweep, and the place of each of its values.
func sweepAxis(w scenario.Sweep, logarithmic bool) (x figure.Axis, at []float64) {
	x = figure.Axis{Label: label(w.Field), Log: logarithmic}
	for i, s := range w.Values {
		v, err := strconv.ParseFloat(s, 64)
		if d, failed := time.ParseDuration(s); err != nil && failed == nil {
			v, err, x.Label = d.Seconds(), nil, strings.TrimSuffix(x.Label, " (s)")+" (s)"
		}
		if err != nil || logarithmic && v <= 0 {
			x.Words = w.Values
			v = float64(i)
		}
		at = append(at, v)
	}
	if x.Words != nil {
		for i := range at {
			at[i] = float64(i)
		}
		return figure.Axis{Label: x.Label, Words: w.Values}, at
	}
	x.Min, x.Max = min(0, slices.Min(at)), slices.Max(at)*1.03
	if logarithmic {
		x.Min, x.Max = slices.Min(at)/1.15, slices.Max(at)*1.15
	}
	return x, at
}

// axis returns the axis of a measure whose values are greater than 0.
func axis(logarithmic bool, values ...float64) figure.Axis {
	values = slices.DeleteFunc(values, func(v float64) bool { return v <= 0 })
	if len(values) == 0 {
		values = []float64{0.1, 1}
	}
	a := figure.Axis{Max: slices.Max(values) * 1.06, Log: logarithmic}
	if logarithmic {
		a.Min, a.Max = slices.Min(values)/1.3, slices.Max(values)*1.3
	}
	return a
}

// single is the height of a figure with one plot.
const single = 3.2 * vg.Inch

// curve draws a measure of each strategy over the values of the sweep: the median, and a
// bar from the least to the most.
func (d drawing) curve() figure.Figure {
	sweep := d.Sweep[0]
	x, at := sweepAxis(sweep, d.LogX)
	var values []float64
	for _, r := range d.rows {
		if m := r.Of(d.Measure); m.Applies {
			values = append(values, m.Min.Value, m.Max.Value)
		}
	}
	y, title := axis(d.LogY, values...), label(d.Measure)
	if d.Top > 0 {
		y.Max = d.Top
	}
	f := figure.Figure{Height: single}
	var shown []plot.Plotter
	for i, s := range d.strategies() {
		line, glyph := figure.Nth(i)
		var xys plotter.XYs
		var bars plotter.YErrors
		for j, v := range sweep.Values {
			if row, ok := d.Row(s, []string{sweep.Field + "=" + v}); ok && row.Of(d.Measure).Applies {
				r := row.Of(d.Measure)
				median := max(r.Median.Value, y.Min)
				xys = append(xys, plotter.XY{X: at[j], Y: median})
				bars = append(bars, struct{ Low, High float64 }{median - max(r.Min.Value, y.Min), max(r.Max.Value, median) - median})
			}
		}
		shown = append(shown, f.Curve(s, xys, line, glyph)...)
		thin := draw.LineStyle{Color: line.Color, Width: vg.Points(0.8)}
		shown = append(shown, &plotter.YErrorBars{XYs: xys, YErrors: bars, LineStyle: thin, CapWidth: vg.Points(5)})
	}
	if runs := d.WithDefaults().Runs; runs > 1 {
		title += fmt.Sprintf(", the median of %d runs; bars: their least and most", runs)
	}
	f.Plots = []*plot.Plot{figure.New(title, x, y, shown...)}
	return f
}

// strategies returns the names of the strategies in the rows.
func (d drawing) strategies() (all []string) {
	for _, r := range d.rows {
		if !slices.Contains(all, r.Strategy.Name) {
			all = append(all, r.Strategy.Name)
		}
	}
	return all
}

// heat draws a measure of the first strategy over the measure of the second, over two sweeps.
func (d drawing) heat() figure.Figure {
	first, second, rows, columns := d.Plot.Strategies[0], d.Plot.Strategies[1], d.Sweep[0], d.Sweep[1]
	f := figure.Figure{Height: vg.Length(len(rows.Values))*0.36*vg.Inch + 0.9*vg.Inch}
	f.Explain("lower with "+second, figure.Box(0, 0, 0, 0, figure.Blue))
	f.Explain("lower with "+first, figure.Box(0, 0, 0, 0, figure.Vermillion))
	var shown []plot.Plotter
	var texts plotter.Labels
	for i, v := range rows.Values {
		for j, w := range columns.Values {
			r, ok := d.ratio(first, second, []string{rows.Field + "=" + v, columns.Field + "=" + w})
			if !ok {
				continue
			}
			x, y, tone := float64(j), float64(i), min(math.Abs(math.Log(r)/math.Log(8)), 1)
			full := figure.Blue
			if r < 1 {
				full = figure.Vermillion
			}
			shown = append(shown, figure.Box(x-0.5, x+0.5, y-0.5, y+0.5, color.NRGBA{full.R, full.G, full.B, uint8(1 + 254*tone)}))
			style := plot.New().Legend.TextStyle
			if style.XAlign, style.YAlign = draw.XCenter, draw.YCenter; tone > 0.75 {
				style.Color = color.White
			}
			texts.XYs, texts.Labels, texts.TextStyle = append(texts.XYs, plotter.XY{X: x, Y: y}), append(texts.Labels, times(r)), append(texts.TextStyle, style)
		}
	}
	f.Plots = []*plot.Plot{figure.New(label(d.Measure)+": "+first+" divided by "+second,
		figure.Axis{Label: label(columns.Field), Words: columns.Values}, figure.Axis{Label: label(rows.Field), Words: rows.Values}, append(shown, &texts)...)}
	return f
}

func times(r float64) string {
	if r >= 9.995 {
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return strconv.FormatFloat(r, 'f', 2, 64)
}

// ratio returns the measure of the first strategy over the measure of the second at a point.
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

// delays draws the waits of one operation that never succeeds, before each attempt.
func (d drawing) delays() figure.Figure {
	f := figure.Figure{Height: single}
	var shown []plot.Plotter
	var values []float64
	last := 0
	for i, r := range d.rows {
		var xys plotter.XYs
		for j, w := range waits(r.Strategy.Retry, d.Seed) {
			xys = append(xys, plotter.XY{X: float64(j + 2), Y: max(w, time.Microsecond).Seconds()})
			values = append(values, xys[j].Y)
		}
		last = max(last, len(xys)+1)
		line, glyph := figure.Nth(i)
		shown = append(shown, f.Curve(r.Strategy.Name, xys, line, glyph)...)
	}
	x := figure.Axis{Label: "number of the attempt", Min: 1, Max: float64(last) + 0.5}
	f.Plots = []*plot.Plot{figure.New("wait before the attempt (s)", x, axis(d.LogY, values...), shown...)}
	return f
}

// waits returns the waits before the retries of an operation that never succeeds, at most 20.
func waits(r sim.Retry, seed uint64) (all []time.Duration) {
	b, random := r.Delays(), rand.New(rand.NewPCG(seed, 0))
	if b == nil {
		return nil
	}
	var s backoff.State
	for s.Retry = 1; s.Retry <= 20; s.Retry++ {
		w, again := b.Delay(s, random)
		if !again {
			break
		}
		all = append(all, w)
		s.Last, s.Elapsed = w, s.Elapsed+w
	}
	return all
}
