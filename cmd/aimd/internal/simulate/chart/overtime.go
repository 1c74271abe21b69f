package chart

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
	text  string
	look  draw.LineStyle
	names []string
	// held reports that a value holds for its whole interval, as a rate does.
	held bool
}

// level is a line in steps.
type level struct {
	text  string
	steps plotter.XYs
}

// overTime draws each row in a plot of its own, the first on top, all to one scale.
func (d drawing) overTime() figure.Figure {
	rate := func(text string, look draw.LineStyle, names ...string) course { return course{text, look, names, true} }
	cwnd := course{"cwnd", figure.Line(figure.Blue), []string{"cwnd"}, false}
	y, levels := "requests at a time", d.limits("the service's limit", "")
	var courses []course
	switch d.Plot.Kind {
	case scenario.Window:
		ssthresh := rate("ssthresh", figure.Line(figure.Orange, 8, 4), "ssthresh")
		if d.Top == 0 { // the scale fits cwnd: ssthresh begins far above it
			d.Top = d.highest(d.rows, []course{cwnd}, levels)
		}
		if first := sum(d.rows[0].Typical.Traces, "ssthresh"); len(first) > 0 && first[0] > d.Top {
			ssthresh.text = fmt.Sprintf("ssthresh (first %s, off the scale)", experiment.Show(first[0]))
		}
		courses = []course{cwnd, ssthresh}
	case scenario.Load:
		courses = []course{{"requests at the service", figure.Line(figure.Blue), []string{"concurrency"}, false}}
	case scenario.Requests:
		y, levels = "requests per second", d.limits("the service's capacity", "/s")
		courses = []course{
			rate("requests", figure.Line(figure.Blue), "requests"),
			rate("retries among them", figure.Line(figure.Vermillion, 6, 2.5), "retries"),
		}
	default:
		y, levels = "requests per second", d.limits("the service's capacity", "/s")
		courses = []course{
			rate("succeeded", figure.Line(figure.Blue), "successes"),
			rate("refused or failed", figure.Line(figure.Vermillion, 6, 2.5), "refusals", "failures"),
			rate("no answer in time", figure.Line(figure.Orange, 2.5, 2), "timeouts"),
		}
	}
	return d.plots(y, courses, levels)
}

// plots draws the courses that are not zero in all rows.
func (d drawing) plots(y string, courses []course, levels []level) figure.Figure {
	courses = slices.DeleteFunc(courses, func(c course) bool {
		return !slices.ContainsFunc(d.rows, func(r experiment.Row) bool {
			return slices.ContainsFunc(sum(r.Typical.Traces, c.names...), func(v float64) bool { return v > 0 })
		})
	})
	f := figure.Figure{Height: map[bool]vg.Length{true: 2.9 * vg.Inch, false: 1.75 * vg.Inch}[len(d.rows) == 1]}
	x, yAxis := d.timeAxis(), figure.Axis{Max: d.highest(d.rows, courses, levels), Log: d.LogY}
	if d.LogY {
		yAxis.Min = 1
	}
	for i, r := range d.rows {
		if d.Measured && !d.LogY {
			yAxis.Max = d.highest(d.rows[i:i+1], courses, levels)
		}
		var shown []plot.Plotter
		add := func(text string, p interface {
			plot.Plotter
			plot.Thumbnailer
		}) {
			if shown = append(shown, p); i == 0 {
				f.Explain(text, p)
			}
		}
		text, times := d.trouble()
		for j, t := range times {
			if shade := figure.Box(t[0], t[1], yAxis.Min, yAxis.Max, figure.Shade); j == 0 {
				add(text, shade)
			} else {
				shown = append(shown, shade)
			}
		}
		for _, l := range levels {
			add(l.text, &plotter.Line{XYs: l.steps, StepStyle: plotter.PostStep, LineStyle: figure.Line(figure.Black, 2, 3)})
		}
		for _, c := range courses {
			line := &plotter.Line{XYs: d.points(c, r.Typical.Traces), LineStyle: c.look}
			if c.held {
				line.StepStyle = plotter.PostStep
			}
			add(c.text, line)
		}
		if i == len(d.rows)-1 {
			x.Label = "time (s)"
		}
		for _, n := range d.Notes {
			shown = append(shown, &plotter.Labels{
				XYs: plotter.XYs{{X: n.At.Seconds(), Y: n.Y}}, Labels: []string{n.Text}, TextStyle: []draw.TextStyle{plot.NewLegend().TextStyle},
			})
		}
		f.Plots = append(f.Plots, figure.New(d.title(r, y), x, yAxis, shown...))
	}
	return f
}

// title returns the name of the strategy, unless it is the only one, y, and the number
// that belongs to its requests.
func (d drawing) title(r experiment.Row, y string) string {
	if len(d.rows) > 1 || d.Measured {
		y = r.Strategy.Name + ": " + y
	}
	switch {
	case d.Plot.Kind != scenario.Requests:
	case len(d.rows) > 1 && r.Of("outage_sent").Applies:
		y += fmt.Sprintf(" (%s while the service is down)", r.Of("outage_sent").Median)
	case d.From == 0:
		y += fmt.Sprintf(" (peak over mean: %s)", r.Of("peak_over_mean").Median)
	}
	return y
}

// limits returns the limit of the service over time, if the service has one: requests at a
// time, or per second if there is a unit.
func (d drawing) limits(text, unit string) []level {
	v := d.Server
	var xys plotter.XYs
	for _, c := range append([]sim.Change{{}}, v.Capacity...) {
		v.Slots, v.Service = cmp.Or(c.Slots, v.Slots), cmp.Or(c.Service, v.Service)
		v.Rate.PerSecond = cmp.Or(c.Rate, v.Rate.PerSecond)
		n := limit(v)
		if unit != "" {
			n /= max(v.Service, 1).Seconds()
			if rate := v.Rate.PerSecond; n == 0 || rate > 0 && rate < n {
				n = rate
			}
		}
		if n == 0 {
			return nil
		}
		xys = append(xys, plotter.XY{X: c.At.Seconds(), Y: n})
	}
	if len(xys) == 1 {
		text += fmt.Sprintf(" (%s%s)", experiment.Show(xys[0].Y), unit)
	}
	return []level{{text, append(xys, plotter.XY{X: d.timeAxis().Max, Y: xys[len(xys)-1].Y})}}
}

// limit is the concurrency up to which the server neither refuses nor slows down, or 0
// if it always does, or never.
func limit(v sim.Server) float64 {
	limits := slices.DeleteFunc([]int{v.Slots, v.Slowdown.Limit, v.Knee.At}, func(n int) bool { return n <= 0 })
	if len(limits) == 0 {
		return 0
	}
	return float64(slices.Min(limits))
}

func (d drawing) timeAxis() figure.Axis {
	to := d.To.Seconds()
	for _, r := range d.rows {
		if d.To == 0 {
			to = max(to, r.Typical.End.Seconds())
		}
	}
	return figure.Axis{Min: d.From.Seconds(), Max: max(to, d.From.Seconds()+0.001)}
}

// highest returns the end of an axis for these rows.
func (d drawing) highest(rows []experiment.Row, courses []course, levels []level) float64 {
	if d.Top > 0 {
		return d.Top
	}
	top := 1.0
	for _, l := range levels {
		for _, xy := range l.steps {
			top = max(top, xy.Y)
		}
	}
	for _, r := range rows {
		for _, c := range courses {
			for _, xy := range d.points(c, r.Typical.Traces) {
				top = max(top, xy.Y)
			}
		}
	}
	if d.LogY {
		return top * 1.3
	}
	return top * 1.06
}

// sum adds up series of a run.
func sum(t sim.Traces, names ...string) (all []float64) {
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

// points returns the points of the course that are on the axis. Rates are means over
// d.Per, if that is longer than the interval of the traces.
func (d drawing) points(c course, t sim.Traces) (xys plotter.XYs) {
	x, step, values := d.timeAxis(), t.Interval.Seconds(), sum(t, c.names...)
	if n := int(d.Per / max(t.Interval, 1)); c.held && n > 1 {
		step, values = step*float64(n), means(values, n)
	}
	for i, v := range values {
		at := float64(i) * step
		if !c.held {
			at += step
		}
		if x.Min <= at && at <= x.Max {
			if d.LogY {
				v = max(v, 1) // at the bottom of the axis
			}
			xys = append(xys, plotter.XY{X: at, Y: v})
		}
	}
	if n := len(xys); c.held && n > 0 {
		xys = append(xys, plotter.XY{X: min(xys[n-1].X+step, x.Max), Y: xys[n-1].Y})
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

// trouble returns the times of outages or failures that are on the axis, in seconds, and their name.
func (d drawing) trouble() (text string, times [][2]float64) {
	x, f := d.timeAxis(), d.Server.Failures
	add := func(from, length time.Duration) {
		if t := [2]float64{max(from.Seconds(), x.Min), min((from + length).Seconds(), x.Max)}; t[0] < t[1] {
			times = append(times, t)
		}
	}
	for _, o := range d.Server.Outages {
		add(o.From, o.For)
	}
	if len(d.Server.Outages) > 0 {
		return "service down", times
	}
	if f.Rate > 0 {
		add(f.From, f.For)
	}
	of := map[bool]string{true: "clients", false: "requests"}[f.Sticky]
	return fmt.Sprintf("%s%% of %s fail", experiment.Show(100*f.Rate), of), times
}
