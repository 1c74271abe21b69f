package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/sim"
)

// course is a curve over time: the sum of some series of a run.
type course struct {
	text   string
	series []string
}

// courses are the curves of the figures over time. The scale of the windows fits cwnd: ssthresh
// begins far above it.
var courses = map[string][]course{
	scenario.Window:   {{"cwnd", []string{"cwnd"}}, {"ssthresh", []string{"ssthresh"}}},
	scenario.Load:     {{"requests at the service", []string{"concurrency"}}},
	scenario.Requests: {{"requests", []string{"requests"}}, {"retries among them", []string{"retries"}}},
	scenario.Answers: {
		{"succeeded", []string{"successes"}}, {"refused or failed", []string{"refusals", "failures"}}, {"no answer in time", []string{"timeouts"}},
	},
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
		p := d.figure.Plot(d.title(r, y))
		d.draw(p, r, i == 0, rates)
		p.X.Min, p.X.Max = d.From.Seconds(), max(d.end(), d.From.Seconds()+0.001)
		p.X.Padding, p.Y.Padding = 0, 0
		if d.Top == 0 {
			p.Y.Max *= 1.06
			top = max(top, p.Y.Max)
		}
	}
	for _, p := range d.figure.Plots {
		if p.Y.Min = 0; !d.Measured || d.LogY || d.Top > 0 {
			p.Y.Max = top
		}
		if d.LogY {
			p.Y.Min = 1
			figure.Log(&p.Y)
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
		add(text, times)
	}
	p.Y.Max = 1
	if text, steps := d.limits(rates); len(steps) > 0 {
		line, _ := figure.Nth(6)
		line.Dashes = []vg.Length{vg.Points(2), vg.Points(3)}
		add(text, &plotter.Line{XYs: steps, StepStyle: plotter.PostStep, LineStyle: line})
	}
	for i, c := range courses[d.Kind] {
		if !slices.ContainsFunc(d.rows, func(r experiment.Row) bool { return slices.Max(append(sum(r.Typical.Traces, c.series), 0)) > 0 }) {
			continue
		}
		line := &plotter.Line{XYs: d.points(c, r.Typical.Traces)}
		line.LineStyle, _ = figure.Nth(i)
		highest := p.Y.Max
		if add(c.text, line); c.text == "ssthresh" {
			p.Y.Max = highest
		}
	}
	for _, n := range d.Notes {
		p.Add(&plotter.Labels{
			XYs: plotter.XYs{{X: n.At.Seconds(), Y: n.Y}}, Labels: []string{n.Text}, TextStyle: []draw.TextStyle{p.Legend.TextStyle},
		})
	}
}

// title returns the name of the strategy, unless it is the only one, y, and the number
// that belongs to its requests.
func (d drawing) title(r experiment.Row, y string) string {
	if len(d.rows) > 1 || d.Measured {
		y = r.Strategy.Name + ": " + y
	}
	switch {
	case d.Kind != scenario.Requests:
	case len(d.rows) > 1 && r.Of("outage_sent").Applies:
		y += fmt.Sprintf(" (%s while the service is down)", r.Of("outage_sent").Median)
	case d.From == 0:
		y += fmt.Sprintf(" (peak over mean: %s)", r.Of("peak_over_mean").Median)
	}
	return y
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

// limits returns the limit of the service over time, if the service has one: requests at a
// time, or per second.
func (d drawing) limits(perSecond bool) (text string, steps plotter.XYs) {
	v, text, unit := d.Server, "the service's limit", ""
	if perSecond {
		text, unit = "the service's capacity", "/s"
	}
	for _, c := range append([]sim.Change{{}}, v.Capacity...) {
		v.Slots, v.Service = cmp.Or(c.Slots, v.Slots), cmp.Or(c.Service, v.Service)
		v.Rate.PerSecond = cmp.Or(c.Rate, v.Rate.PerSecond)
		n := math.Inf(1)
		for _, limit := range []int{v.Slots, v.Slowdown.Limit, v.Knee.At} {
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

// sum adds up series of a run.
func sum(t sim.Traces, names []string) (all []float64) {
	for _, name := range names {
		for i, v := range t.Of(name) {
			if i == len(all) {
				all = append(all, 0)
			}
			all[i] += v
		}
	}
	return all
}

// points returns the points of the course that are on the axis of time, each in the middle of its
// interval. The numbers are means over d.Per, if that is longer than the interval of the traces.
func (d drawing) points(c course, t sim.Traces) (xys plotter.XYs) {
	n := max(1, int(d.Per/max(t.Interval, 1)))
	least := 0.0
	if d.LogY {
		least = 1 // the lower end of the axis
	}
	for i, v := range means(sum(t, c.series), n) {
		at := (float64(i) + 0.5) * float64(n) * t.Interval.Seconds()
		if d.From.Seconds() <= at && at <= d.end() {
			xys = append(xys, plotter.XY{X: at, Y: max(v, least)})
		}
	}
	return xys
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

// stretches are stretches of time, each from its begin to its end in seconds. They are grey from
// the bottom of a plot to its top.
type stretches [][2]float64

var grey = color.Gray{0xE2}

// Plot implements plot.Plotter.
func (s stretches) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, t := range s {
		c.FillPolygon(grey, c.ClipPolygonXY([]vg.Point{{X: x(t[0]), Y: c.Min.Y}, {X: x(t[1]), Y: c.Min.Y}, {X: x(t[1]), Y: c.Max.Y}, {X: x(t[0]), Y: c.Max.Y}}))
	}
}

// Thumbnail implements plot.Thumbnailer.
func (s stretches) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(grey, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// trouble returns the times of outages or failures, and their name.
func (d drawing) trouble() (text string, times stretches) {
	for _, o := range d.Server.Outages {
		times = append(times, [2]float64{o.From.Seconds(), (o.From + o.For).Seconds()})
	}
	if len(times) > 0 {
		return "service down", times
	}
	f := d.Server.Failures
	if f.Rate > 0 {
		times = stretches{{f.From.Seconds(), (f.From + f.For).Seconds()}}
	}
	return fmt.Sprintf("%s%% of %s fail", experiment.Show(100*f.Rate), map[bool]string{true: "clients", false: "requests"}[f.Sticky]), times
}
