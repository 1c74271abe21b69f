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
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// curve is the points of a strategy, and how far each may reach down and up.
type curve struct {
	plotter.XYs
	plotter.YErrors
}

// add adds a strategy's curve to the plot, and its name to the legend.
func (d drawing) add(p *plot.Plot, name string, c curve, joined bool) {
	line, glyph := nth(slices.Index(d.strategies(), name))
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
		logarithmic(&p.Y)
	}
	if d.Top > 0 {
		p.Y.Max = d.Top
	}
}

// curve draws a measure of each strategy over the values of the sweep: the median, and a bar from the least to the
// most. The values are at even distances. Numbers are joined by lines; the points of words are side by side.
func (d drawing) curve() {
	sweep, title := d.Sweep[0], label(d.Measure)
	if runs := d.Runs; runs > 1 {
		title += fmt.Sprintf(", the median of %d runs; bars: their least and most", runs)
	}
	p := d.figure.plot(title)
	low, names := d.lowest(), d.strategies()
	numbers := strings.IndexAny(sweep.Values[0], "0123456789") == 0
	for i, s := range names {
		var c curve
		for j, v := range sweep.Values {
			row, ok := d.Row(s, sweep.At(v))
			if r := row.Ranges[d.Measure]; ok && r.Applies {
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
	d.scale(p)
}

// lowest returns the least number of the measure for which the axis has a place.
func (d drawing) lowest() float64 {
	if !d.LogY {
		return 0
	}
	var all []float64
	for _, r := range d.rows {
		m := r.Ranges[d.Measure]
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
	p := d.figure.plot("wait before the attempt (s)")
	for _, r := range d.rows {
		var c curve
		waits, random := r.Strategy.Retry, rand.New(rand.NewPCG(d.Seed, 0))
		for s := (backoff.State{Retry: 1}); s.Retry <= 20 && (r.Strategy.Attempts == 0 || s.Retry < r.Strategy.Attempts); s.Retry++ {
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

// grid is the table of a map: a measure of the map's first strategy divided by the second strategy's, at each point
// of two sweeps. The values of the first sweep are rows, the values of the second are columns.
func grid(s experiment.Study, p scenario.Plot) table.Table {
	t := table.New(1, append([]string{s.Sweep[0].Field + " \\ " + s.Sweep[1].Field}, s.Sweep[1].Values...)...)
	for _, row := range s.Sweep[0].Values {
		line := []table.Cell{{Text: row}}
		for _, column := range s.Sweep[1].Values {
			at := append(s.Sweep[0].At(row), s.Sweep[1].At(column)...)
			cell := table.Cell{Text: "–"}
			a, aThere := s.Row(p.Strategies[0], at)
			if b, bThere := s.Row(p.Strategies[1], at); aThere && bThere {
				if r := a.Ranges[p.Measure].Median.Value / b.Ranges[p.Measure].Median.Value; r > 0 && !math.IsInf(r, 1) {
					cell.Text = strconv.FormatFloat(r, 'f', 2, 64)
				}
			}
			line = append(line, cell)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// Load is the work that a strategy got done at a service, at a load in shares of the service's capacity.
type Load struct {
	Service, Strategy string
	Load              float64
	// Goodput is the operations done, over what the service takes; P99 is of their times, in seconds, 0 without any.
	Goodput, P99 float64
	// Done and Sent are the operations that were done, and the attempts that were sent.
	Done, Sent float64
}

// Attempts is the number of attempts for each operation that was done.
func (l Load) Attempts() float64 { return l.Sent / max(1, l.Done) }

// Means are the means over the services, by load and strategy in their order, which is the same for each service.
func Means(all []Load) (means []Load) {
	n := slices.IndexFunc(append(all[:len(all):len(all)], Load{}), func(l Load) bool { return l.Service != all[0].Service })
	for i, first := range all[:n] {
		m, answered := Load{Service: "mean", Strategy: first.Strategy, Load: first.Load}, 0.0
		for at := i; at < len(all); at += n {
			l := all[at]
			m.Goodput, m.Done, m.Sent, m.P99 = m.Goodput+l.Goodput, m.Done+l.Done, m.Sent+l.Sent, m.P99+l.P99
			if l.P99 > 0 {
				answered++
			}
		}
		m.Goodput /= float64(len(all) / n)
		m.P99 /= max(1, answered)
		means = append(means, m)
	}
	return means
}

// Sweep draws goodput, p99 and attempts over the load, a row for each of four kinds of service.
func Sweep(all []Load, strategies []string) Figure {
	f := newFigure("sweep", "What each law gets done of the load, how long it takes, and how many attempts it sends", 1.5*vg.Inch)
	f.Columns = 3
	for kind := range slices.Chunk(all, len(all)/4) {
		points := Means(kind)
		f.loads(kind[0].Service+": goodput", points, strategies, func(l Load) float64 { return l.Goodput }).Y.Max = 1.05
		f.loads("p99 (s)", points, strategies, func(l Load) float64 { return l.P99 }).Y.Max = 1
		f.loads("attempts for each done", points, strategies, Load.Attempts).Y.Max = 5
	}
	return *f
}

// loads draws a measure of each strategy over the load.
func (f *Figure) loads(title string, all []Load, strategies []string, of func(Load) float64) *plot.Plot {
	p := f.plot(title)
	for n, name := range slices.Backward(strategies) { // the first is drawn last, and so on top
		line, _ := nth(n)
		curve := &plotter.Line{LineStyle: line}
		for _, l := range all {
			if l.Strategy == name && (l.Done > 0 || len(f.Plots)%f.Columns == 1) { // nothing done is a goodput, too
				curve.XYs = append(curve.XYs, plotter.XY{X: l.Load, Y: of(l)})
			}
		}
		p.Add(curve)
		if len(f.Plots) == 1 {
			defer f.Legend.Add(name, curve)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min = 0.25, 4, 0
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks{{Value: .25, Label: "1/4"}, {Value: .5, Label: "1/2"}, {Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 4, Label: "4"}}
	return p
}
