package chart

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/sim"
)

// course is a series over time that a figure draws.
type course struct {
	figure.Curve
	// of are the series that are added up.
	of []string
	// held: each value holds for the whole interval, as a rate does.
	held bool
}

func (c course) values(t sim.Traces) (all []float64) {
	for _, name := range c.of {
		for i, v := range t.Of(name) {
			if i == len(all) {
				all = append(all, 0)
			}
			all[i] += v
		}
	}
	return all
}

type level struct {
	figure.Curve
	at float64
}

// answers are the requests that succeed and that do not, each row in a panel of its own.
func (d drawing) answers() figure.Figure {
	return d.overTime("requests per second", []course{
		{figure.Line("succeeded", figure.Blue, 2.2), []string{"successes"}, true},
		{figure.Line("refused or failed", figure.Vermillion, 1.8, 6, 2.5), []string{"refusals", "failures"}, true},
		{figure.Line("no answer in time", figure.Orange, 1.8, 2.5, 2), []string{"timeouts"}, true},
	}, d.capacity())
}

// requests are those that are sent. Below them stands how uneven they are.
func (d drawing) requests() figure.Figure {
	f := d.overTime("requests per second", []course{
		{figure.Line("requests", figure.Blue, 2.2), []string{"requests"}, true},
		{figure.Line("retries among them", figure.Vermillion, 1.8, 6, 2.5), []string{"retries"}, true},
	}, d.capacity())
	if len(d.rows) == 1 && d.From == 0 {
		f.Note = "peak over mean of single seconds: " + d.rows[0].Of("peak_over_mean").Median.String()
	}
	return f
}

// window is cwnd and ssthresh. The scale is cwnd's: ssthresh begins far above it.
func (d drawing) window() figure.Figure {
	cwnd := course{figure.Line("cwnd", figure.Blue, 2.2), []string{"cwnd"}, false}
	ssthresh := course{figure.Line("ssthresh", figure.Orange, 2.2, 9, 4), []string{"ssthresh"}, true}
	if d.Top == 0 {
		d.Top = d.highest(d.rows, []course{cwnd}, d.slots())
	}
	if first := ssthresh.values(d.rows[0].Typical.Traces); len(first) > 0 && first[0] > d.Top {
		ssthresh.Text = fmt.Sprintf("ssthresh (first %s, off the scale)", experiment.Show(first[0]))
	}
	return d.overTime("requests at a time", []course{cwnd, ssthresh}, d.slots())
}

func (d drawing) load() figure.Figure {
	return d.overTime("requests at a time", []course{
		{figure.Line("requests at the service", figure.Blue, 2.2), []string{"concurrency"}, false},
	}, d.slots())
}

// capacity is what the service can serve per second, if that is one number.
func (d drawing) capacity() []level {
	v := d.Server
	rate := v.Rate.PerSecond
	if slots := limit(v); slots > 0 && v.Service > 0 && (rate == 0 || rate > slots/v.Service.Seconds()) {
		rate = slots / v.Service.Seconds()
	}
	if rate == 0 || len(v.Capacity) > 0 {
		return nil
	}
	return []level{{dotted("the service's capacity (%s/s)", rate), rate}}
}

func (d drawing) slots() []level {
	if slots := limit(d.Server); slots > 0 && len(d.Server.Capacity) == 0 {
		return []level{{dotted("the service's limit (%s)", slots), slots}}
	}
	return nil
}

// limit is the concurrency that the server serves as well as ever, 0 if there is no such.
func limit(v sim.Server) float64 {
	least := 0
	for _, n := range []int{v.Slots, v.Slowdown.Limit, v.Knee.At} {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return float64(least)
}

func dotted(text string, v float64) figure.Curve {
	return figure.Line(fmt.Sprintf(text, experiment.Show(v)), figure.Black, 1.2, 2, 3)
}

// overTime draws the courses of each row in a panel of its own, the last on top, all to
// the same scale. What is zero in all of them is left out.
func (d drawing) overTime(y string, courses []course, levels []level) figure.Figure {
	courses = slices.DeleteFunc(courses, func(c course) bool {
		return !slices.ContainsFunc(d.rows, func(r experiment.Row) bool {
			return slices.ContainsFunc(c.values(r.Typical.Traces), func(v float64) bool { return v > 0 })
		})
	})
	f := figure.Figure{X: "time (s)", Y: y, PanelHeight: panelHeight(len(d.rows))}
	x, yAxis := d.timeAxis(), figure.Axis{Max: d.highest(d.rows, courses, levels), Log: d.LogY}
	if d.LogY {
		yAxis.Min = 1
	}
	for _, c := range courses {
		f.Legend = append(f.Legend, c.Curve)
	}
	for _, l := range levels {
		f.Legend = append(f.Legend, l.Curve)
	}
	f.Legend = append(f.Legend, d.troubleLegend()...)
	for i, r := range d.rows {
		if d.Measured && !d.LogY {
			yAxis.Max = d.highest(d.rows[i:i+1], courses, levels)
		}
		p := figure.NewPanel(d.title(r), x, yAxis)
		for _, s := range d.trouble() {
			p.Shade(max(s[0], x.Min), min(s[1], x.Max))
		}
		for _, l := range levels {
			p.Level(l.Curve, l.at)
		}
		for _, c := range courses {
			draw := p.Line
			if c.held {
				draw = p.Steps
			}
			draw(c.Curve, c.points(r.Typical.Traces, x, d.Per))
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// title is the strategy's name, where it has to be told, and the number that its
// requests come to, where these are drawn.
func (d drawing) title(r experiment.Row) string {
	switch {
	case len(d.rows) == 1 && !d.Measured:
		return ""
	case d.Plot.Kind == scenario.Requests && r.Of("outage_sent").Applies:
		return fmt.Sprintf("%s (%s requests while the service is down)", r.Strategy.Name, r.Of("outage_sent").Median)
	case d.Plot.Kind == scenario.Requests:
		return fmt.Sprintf("%s (peak over mean: %s)", r.Strategy.Name, r.Of("peak_over_mean").Median)
	}
	return r.Strategy.Name
}

func panelHeight(panels int) vg.Length {
	switch {
	case panels == 1:
		return 3.4 * vg.Inch
	case panels > 3:
		return 1.7 * vg.Inch
	}
	return 2.2 * vg.Inch
}

func (d drawing) timeAxis() figure.Axis {
	to := d.To.Seconds()
	if to == 0 {
		for _, r := range d.rows {
			to = max(to, r.Typical.End.Seconds())
		}
	}
	return figure.Axis{Min: d.From.Seconds(), Max: max(to, d.From.Seconds()+0.001)}
}

func (d drawing) highest(rows []experiment.Row, courses []course, levels []level) float64 {
	if d.Top > 0 {
		return d.Top
	}
	top, x := 1.0, d.timeAxis()
	for _, l := range levels {
		top = max(top, l.at)
	}
	for _, r := range rows {
		for _, c := range courses {
			for _, xy := range c.points(r.Typical.Traces, x, d.Per) {
				top = max(top, xy.Y)
			}
		}
	}
	if d.LogY {
		return top * 1.3
	}
	return top * 1.06
}

// points are those of the course that are on the axis. Rates are taken over per,
// if that is longer than the interval of the traces.
func (c course) points(t sim.Traces, x figure.Axis, per time.Duration) (xys figure.Points) {
	step, values := t.Interval.Seconds(), c.values(t)
	if n := int(per / max(t.Interval, 1)); c.held && n > 1 {
		step, values = step*float64(n), means(values, n)
	}
	for i, v := range values {
		at := float64(i) * step
		if !c.held {
			at += step
		}
		if x.Min <= at && at <= x.Max {
			xys = append(xys, figure.Point{X: at, Y: v})
		}
	}
	if n := len(xys); c.held && n > 0 {
		xys = append(xys, figure.Point{X: min(xys[n-1].X+step, x.Max), Y: xys[n-1].Y})
	}
	return xys
}

// means are those of every n values. A short rest would be the mean of a few requests.
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

// trouble are the stretches of time with an outage or with failures, in seconds.
func (d drawing) trouble() [][2]float64 {
	var all [][2]float64
	for _, o := range d.Server.Outages {
		all = append(all, [2]float64{o.From.Seconds(), (o.From + o.For).Seconds()})
	}
	if f := d.Server.Failures; f.Rate > 0 && f.For > 0 {
		all = append(all, [2]float64{f.From.Seconds(), (f.From + f.For).Seconds()})
	}
	return all
}

func (d drawing) troubleLegend() []figure.Curve {
	x := d.timeAxis()
	inside := slices.ContainsFunc(d.trouble(), func(s [2]float64) bool { return s[0] < x.Max && s[1] > x.Min })
	switch {
	case !inside:
		return nil
	case len(d.Server.Outages) > 0:
		return []figure.Curve{figure.Area("service down")}
	}
	of := "requests"
	if d.Server.Failures.Sticky {
		of = "clients"
	}
	return []figure.Curve{figure.Area(fmt.Sprintf("%s%% of %s fail", experiment.Show(100*d.Server.Failures.Rate), of))}
}
