package chart

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

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
