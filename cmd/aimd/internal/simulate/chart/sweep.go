package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// curve is the points of a strategy, and how far each may reach down and up.
type curve struct {
	plotter.XYs
	plotter.YErrors
}

// add adds a strategy's curve to the plot, and its name to the legend.
func (d drawing) add(p *plot.Plot, name string, c curve, joined bool) {
	line, glyph := figure.Nth(slices.Index(d.strategies(), name))
	points := &plotter.Scatter{XYs: c.XYs, GlyphStyle: glyph}
	shown := []plot.Thumbnailer{points}
	if p.Add(points); joined {
		curve := &plotter.Line{XYs: c.XYs, LineStyle: line}
		p.Add(curve)
		shown = append(shown, curve)
	}
	line.Width, line.Dashes = vg.Points(0.8), nil
	p.Add(&plotter.YErrorBars{XYs: c.XYs, YErrors: c.YErrors, LineStyle: line, CapWidth: vg.Points(5)})
	d.figure.Legend.Add(name, shown...)
}

func (d drawing) scale(p *plot.Plot) {
	p.X.Padding, p.Y.Padding = 0, 0
	if !d.LogY {
		p.Y.Min, p.Y.Max = 0, 1.06*p.Y.Max
	} else {
		figure.Log(&p.Y)
	}
	if d.Top > 0 {
		p.Y.Max = d.Top
	}
}

// curve draws a measure of each strategy over the values of the sweep: the median, and a
// bar from the least to the most. The values are at even distances. Numbers are joined by
// lines; the points of words are side by side.
func (d drawing) curve() {
	sweep, title := d.Sweep[0], label(d.Measure)
	if runs := d.Runs; runs > 1 {
		title += fmt.Sprintf(", the median of %d runs; bars: their least and most", runs)
	}
	p := d.figure.Plot(title)
	low, names := d.lowest(), d.strategies()
	numbers := strings.IndexAny(sweep.Values[0], "0123456789") == 0
	for i, s := range names {
		var c curve
		for j, v := range sweep.Values {
			row, ok := d.Row(s, []string{sweep.Field + "=" + v})
			if r := row.Of(d.Measure); ok && r.Applies {
				at := plotter.XY{X: float64(j), Y: max(r.Median.Value, low)}
				if !numbers {
					at.X += 0.1 * (float64(i) - float64(len(names)-1)/2)
				}
				c.XYs = append(c.XYs, at)
				c.YErrors = append(c.YErrors, struct{ Low, High float64 }{at.Y - max(r.Min.Value, low), max(r.Max.Value, at.Y) - at.Y})
			}
		}
		d.add(p, s, c, numbers)
	}
	p.NominalX(sweep.Values...)
	p.X.Label.Text, p.X.Min, p.X.Max = label(sweep.Field), -0.5, float64(len(sweep.Values))-0.5
	if len(strings.Join(sweep.Values, " ")) > 60 { // many names are slanted
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/8, draw.XRight, draw.YTop
	}
	d.scale(p)
}

// lowest returns the least number of the measure for which the axis has a place.
func (d drawing) lowest() float64 {
	if !d.LogY {
		return 0
	}
	var all []float64
	for _, r := range d.rows {
		m := r.Of(d.Measure)
		all = append(all, m.Min.Value, m.Median.Value, m.Max.Value)
	}
	if all = slices.DeleteFunc(all, func(v float64) bool { return v <= 0 }); len(all) == 0 {
		return 1
	}
	return slices.Min(all)
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

// delays draws the waits of one operation that never succeeds, before each attempt, at most 20.
func (d drawing) delays() {
	p := d.figure.Plot("wait before the attempt (s)")
	for _, r := range d.rows {
		var c curve
		waits, random := r.Strategy.Retry.Delays(), rand.New(rand.NewPCG(d.Seed, 0))
		for s := (backoff.State{Retry: 1}); s.Retry <= 20 && (r.Strategy.Retry.Attempts == 0 || s.Retry < r.Strategy.Retry.Attempts); s.Retry++ {
			w, again := waits.Delay(s, random)
			if !again {
				break
			}
			s.Last = w
			c.XYs = append(c.XYs, plotter.XY{X: float64(s.Retry + 1), Y: max(w, time.Microsecond).Seconds()})
		}
		d.add(p, r.Strategy.Name, c, true)
	}
	p.X.Label.Text, p.X.Min, p.X.Max = "number of the attempt", 1, p.X.Max+0.5
	d.scale(p)
}

// grid divides a measure of a map's first strategy by the second strategy's, at each point of two
// sweeps: the values of the first sweep are rows, the values of the second are columns.
type grid struct{ drawing }

// ratio returns the measure of the first strategy over the measure of the second, or NaN.
func (g grid) ratio(column, row int) float64 {
	at := []string{g.Sweep[0].Field + "=" + g.Sweep[0].Values[row], g.Sweep[1].Field + "=" + g.Sweep[1].Values[column]}
	a, aThere := g.Row(g.Plot.Strategies[0], at)
	b, bThere := g.Row(g.Plot.Strategies[1], at)
	if !aThere || !bThere || !a.Of(g.Measure).Applies || !b.Of(g.Measure).Applies {
		return math.NaN()
	}
	if r := a.Of(g.Measure).Median.Value / b.Of(g.Measure).Median.Value; r > 0 && !math.IsInf(r, 1) {
		return r
	}
	return math.NaN()
}

func (g grid) text(column, row int) string {
	r := g.ratio(column, row)
	if math.IsNaN(r) {
		return "–"
	}
	return strconv.FormatFloat(r, 'f', 2, 64)
}

// Dims, X, Y and Z implement plotter.GridXYZ. Z is the logarithm of the ratio: from -1, an
// eighth or less, to 1, eight times as much or more.
func (g grid) Dims() (columns, rows int) { return len(g.Sweep[1].Values), len(g.Sweep[0].Values) }
func (g grid) X(column int) float64      { return float64(column) }
func (g grid) Y(row int) float64         { return float64(row) }
func (g grid) Z(column, row int) float64 {
	return max(-1, min(math.Log(g.ratio(column, row))/math.Log(8), 1))
}

func (g grid) table() (t table.Table) {
	columns, rows := g.Dims()
	t.Columns = []table.Column{{Head: g.Sweep[0].Field + " \\ " + g.Sweep[1].Field, Left: true}}
	for _, v := range g.Sweep[1].Values {
		t.Columns = append(t.Columns, table.Column{Head: v})
	}
	for j := range rows {
		line := []table.Cell{{Text: g.Sweep[0].Values[j]}}
		for i := range columns {
			line = append(line, table.Cell{Text: g.text(i, j)})
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// heat draws a map: a measure of the first strategy divided by the second strategy's.
func (d drawing) heat() {
	g, first, second := grid{d}, d.Plot.Strategies[0], d.Plot.Strategies[1]
	columns, rows := g.Dims()
	d.figure.Height = vg.Length(rows)*0.36*vg.Inch + 0.9*vg.Inch
	p := d.figure.Plot(label(d.Measure) + ": " + first + " divided by " + second)
	colours := moreland.SmoothPurpleOrange().Palette(33)
	tones := plotter.PaletteThumbnailers(colours)
	d.figure.Legend.Add("lower with "+second, tones[len(tones)-5])
	d.figure.Legend.Add("lower with "+first, tones[4])
	var texts plotter.Labels
	for i := range columns {
		for j := range rows {
			style := p.Legend.TextStyle
			style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
			texts.XYs, texts.Labels, texts.TextStyle = append(texts.XYs, plotter.XY{X: g.X(i), Y: g.Y(j)}), append(texts.Labels, g.text(i, j)), append(texts.TextStyle, style)
		}
	}
	// The darkest tones stay unused, since the texts are black.
	p.Add(&plotter.HeatMap{GridXYZ: g, Palette: colours, Min: -1.3, Max: 1.3}, &texts)
	p.NominalX(d.Sweep[1].Values...)
	p.NominalY(d.Sweep[0].Values...)
	p.X.Label.Text, p.Y.Label.Text, p.X.Padding, p.Y.Padding = label(d.Sweep[1].Field), label(d.Sweep[0].Field), 0, 0
}
