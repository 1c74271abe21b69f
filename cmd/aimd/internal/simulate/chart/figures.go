package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
)

// drawing is a figure of a study with the rows that it shows.
type drawing struct {
	experiment.Study
	scenario.Plot
	rows   []experiment.Row
	figure *Figure
}

// Figures draws the figures of the scenario, as far as its rows are there.
func Figures(s experiment.Study) (all []Figure) {
	for _, p := range plots(s) {
		d := drawing{Study: s, Plot: p, figure: newFigure(strings.Trim(s.Name+"-"+p.Name, "-"), p.Caption, 3.2*vg.Inch)}
		d.rows = slices.DeleteFunc(slices.Clone(s.Rows), func(r experiment.Row) bool {
			return len(p.Strategies) > 0 && !slices.Contains(p.Strategies, r.Strategy.Name) ||
				p.Kind == scenario.Window && r.Strategy.Window.MakeLaw() == nil || p.Kind == scenario.Delays && r.Strategy.Retry == nil
		})
		if len(d.rows) == 0 || p.Kind == scenario.Map { // a map is a table
			continue
		}
		switch p.Kind {
		case scenario.Delays:
			d.delays()
		case scenario.Curve:
			d.curve()
		default:
			d.overTime()
		}
		all = append(all, *d.figure)
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
	if s, ok := strings.CutSuffix(name, "_s"); ok {
		name = s + " (s)"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// courses are the curves of the figures over time: each the name of a series, and its name in the
// legend. The scale of the windows fits cwnd: ssthresh begins far above it.
var courses = map[string][][2]string{
	scenario.Window:   {{"cwnd", "cwnd"}, {"ssthresh", "ssthresh"}},
	scenario.Load:     {{"concurrency", "requests at the service"}},
	scenario.Requests: {{"requests", "requests"}, {"retries", "retries among them"}},
	scenario.Answers:  {{"successes", "succeeded"}, {"refusals", "refused"}, {"timeouts", "no answer in time"}, {"failures", "failed"}},
}

// overTime draws each row in a plot of its own, the first on top, all to one scale.
func (d drawing) overTime() {
	if len(d.rows) > 1 {
		d.figure.Height = 1.75 * vg.Inch
	}
	rates := d.Kind == scenario.Answers || d.Kind == scenario.Requests
	y := map[bool]string{true: "requests per second", false: "requests at a time"}[rates]
	top := d.Top
	for i, r := range d.rows {
		title := y
		if len(d.rows) > 1 {
			title = r.Strategy.Name + ": " + y
		}
		p := d.figure.plot(title)
		d.draw(p, r, i == 0, rates)
		p.X.Min, p.X.Max = d.From.Seconds(), max(d.end(), d.From.Seconds()+0.001)
		p.X.Padding, p.Y.Padding = 0, 0
		if d.Top == 0 {
			p.Y.Max *= 1.06
			top = max(top, p.Y.Max)
		}
	}
	for _, p := range d.figure.Plots {
		if p.Y.Min, p.Y.Max = 0, top; d.LogY {
			p.Y.Min = 1
			logarithmic(&p.Y)
		}
	}
	d.figure.Plots[len(d.rows)-1].X.Label.Text = "time (s)"
}

// draw adds the curves of a row to a plot, and their names to the legend if it is the first plot.
func (d drawing) draw(p *plot.Plot, r experiment.Row, first, rates bool) {
	add := func(text string, shown interface {
		plot.Plotter
		plot.Thumbnailer
	}) {
		if p.Add(shown); first {
			d.figure.Legend.Add(text, shown)
		}
	}
	if text, times := d.trouble(); len(times) > 0 {
		add(text, &plotter.Polygon{XYs: times, Color: color.Gray{0xE2}})
	}
	p.Y.Max = 1
	if text, steps := d.limits(rates); len(steps) > 0 {
		line, _ := nth(6)
		line.Dashes = []vg.Length{vg.Points(2), vg.Points(3)}
		add(text, &plotter.Line{XYs: steps, StepStyle: plotter.PostStep, LineStyle: line})
	}
	for i, c := range courses[d.Kind] {
		series := c[0]
		if !slices.ContainsFunc(d.rows, func(r experiment.Row) bool { return slices.Max(append(r.Typical.Traces[series], 0)) > 0 }) {
			continue
		}
		highest := p.Y.Max
		for j, piece := range d.pieces(r.Typical, series) {
			line := &plotter.Line{XYs: piece}
			line.LineStyle, _ = nth(i)
			if j == 0 {
				add(c[1], line)
			} else {
				p.Add(line)
			}
		}
		if series == "ssthresh" {
			p.Y.Max = highest
		}
	}
	for _, n := range d.Notes {
		p.Add(&plotter.Labels{
			XYs: plotter.XYs{{X: n.At.Seconds(), Y: n.Y}}, Labels: []string{n.Text}, TextStyle: []draw.TextStyle{p.Legend.TextStyle},
		})
	}
}

// end returns the end of the axis of time, in seconds.
func (d drawing) end() (s float64) {
	if d.To > 0 {
		return d.To.Seconds()
	}
	for _, r := range d.rows {
		s = max(s, r.Typical.End.Seconds())
	}
	return s
}

// limits returns the service's limit over time, if any: requests at a time, or per second.
func (d drawing) limits(perSecond bool) (text string, steps plotter.XYs) {
	v, text, unit := d.Server, "the service's limit", ""
	if perSecond {
		text, unit = "the service's capacity", "/s"
	}
	for _, c := range append([]sim.Change{{}}, v.Capacity...) {
		v.Slots, v.Service = cmp.Or(c.Slots, v.Slots), cmp.Or(c.Service, v.Service)
		n := math.Inf(1)
		for _, limit := range []int{v.Slots, v.Knee.At} {
			if limit > 0 {
				n = min(n, float64(limit))
			}
		}
		if perSecond {
			n /= max(v.Service, 1).Seconds()
			n = min(n, cmp.Or(v.Rate.PerSecond, n))
		}
		if math.IsInf(n, 1) {
			return "", nil
		}
		steps = append(steps, plotter.XY{X: c.At.Seconds(), Y: n})
	}
	if len(steps) == 1 {
		text += fmt.Sprintf(" (%s%s)", experiment.Show(steps[0].Y), unit)
	}
	return text, append(steps, plotter.XY{X: d.end(), Y: steps[len(steps)-1].Y})
}

// pieces returns the points of the series that are on the axes, each in the middle of its interval, joined where they
// follow one another: on a logarithmic axis, which begins at 1, less has no place. The numbers are means over d.Per, if that
// is longer than the interval of the traces. There is one piece at least.
func (d drawing) pieces(r sim.Result, series string) (all []plotter.XYs) {
	n := max(1, int(d.Per/max(r.Interval, 1)))
	all = []plotter.XYs{nil}
	for i, v := range means(r.Traces[series], n) {
		at, last := (float64(i)+0.5)*float64(n)*r.Interval.Seconds(), len(all)-1
		switch {
		case at < d.From.Seconds() || at > d.end():
		case !d.LogY || v >= 1:
			all[last] = append(all[last], plotter.XY{X: at, Y: v})
		case len(all[last]) > 0:
			all = append(all, nil)
		}
	}
	return all
}

// means returns the means of every n values. A short rest would be the mean of a few requests.
func means(values []float64, n int) (all []float64) {
	for some := range slices.Chunk(values, n) {
		if len(some) < n/2 && len(all) > 0 {
			break
		}
		sum := 0.0
		for _, v := range some {
			sum += v
		}
		all = append(all, sum/float64(n))
	}
	return all
}

// trouble returns the times of outages or failures, as rectangles higher than any plot.
func (d drawing) trouble() (text string, times []plotter.XYs) {
	stretch := func(from, length time.Duration) {
		const bottom, top = 1e-9, 1e9
		a, b := from.Seconds(), (from + length).Seconds()
		times = append(times, plotter.XYs{{X: a, Y: bottom}, {X: a, Y: top}, {X: b, Y: top}, {X: b, Y: bottom}})
	}
	for _, o := range d.Server.Outages {
		stretch(o.From, o.For)
	}
	if len(times) > 0 {
		return "service down", times
	}
	f := d.Server.Failures
	if f.Rate > 0 {
		stretch(f.From, cmp.Or(f.For, math.MaxInt64-f.From)) // without a time to the end
	}
	return fmt.Sprintf("%s%% of %s fail", experiment.Show(100*f.Rate), map[bool]string{true: "clients", false: "requests"}[f.Sticky]), times
}
