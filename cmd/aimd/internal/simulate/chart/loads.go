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
	// Kind is the row of the figure.
	Kind int
	Load float64
	// Goodput is the operations done, over what the service takes; P99 is of their times, in seconds, 0 without any.
	Goodput, P99 float64
	// Done and Sent are the operations that were done, and the attempts that were sent.
	Done, Sent float64
}

// Means are the means over the services, by load and strategy in their order.
func Means(all []Load) []Load { return meansOf(all, func(l Load) bool { return true }) }

func meansOf(all []Load, of func(Load) bool) (means []Load) {
	counted := map[[2]any]int{}
	answered := map[[2]any]float64{}
	for _, l := range all {
		if !of(l) {
			continue
		}
		key := [2]any{l.Strategy, l.Load}
		i, ok := counted[key]
		if !ok {
			i = len(means)
			counted[key] = i
			means = append(means, Load{Service: "mean", Strategy: l.Strategy, Kind: l.Kind, Load: l.Load})
		}
		m := &means[i]
		m.Goodput, m.Done, m.Sent = m.Goodput+l.Goodput, m.Done+l.Done, m.Sent+l.Sent
		if l.P99 > 0 {
			m.P99 += l.P99
			answered[key]++
		}
	}
	services := map[string]bool{}
	for _, l := range all {
		if of(l) {
			services[l.Service] = true
		}
	}
	for i := range means {
		m := &means[i]
		m.Goodput /= float64(len(services))
		m.P99 /= max(1, answered[[2]any{m.Strategy, m.Load}])
	}
	return means
}

// Sweep draws goodput, p99 and attempts over the load, a row for each kind of service.
func Sweep(all []Load, strategies []string) Figure {
	f := newFigure("sweep", "What each law gets done of the load, how long it takes, and how many attempts it sends", 1.5*vg.Inch)
	f.Columns = 3
	for kind := 0; ; kind++ {
		first := slices.IndexFunc(all, func(l Load) bool { return l.Kind == kind })
		if first < 0 {
			return *f
		}
		points := meansOf(all, func(l Load) bool { return l.Kind == kind })
		service := all[first].Service
		f.loads(service+": goodput", points, strategies, func(l Load) float64 { return l.Goodput }).Y.Max = 1.05
		f.loads("p99 (s)", points, strategies, func(l Load) float64 { return l.P99 }).Y.Max = 1
		f.loads("attempts for each done", points, strategies, func(l Load) float64 { return l.Sent / max(1, l.Done) }).Y.Max = 5
	}
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
