package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
)

// figures are all that the results give. Without a window there is no cwnd.
func (r Report) figures() []figure {
	var figures []figure
	if f := r.cwnd(); len(f.panels) > 0 {
		figures = append(figures, f)
	}
	if len(r.Results) > 0 {
		figures = append(figures, r.rates(false), r.rates(true))
	}
	return figures
}

// cwnd is the window over time, one panel per strategy that has one.
func (r Report) cwnd() figure {
	cwnd := curve{"cwnd", lineStyle(blue, vg.Points(2.2))}
	ssthresh := curve{"ssthresh", lineStyle(orange, vg.Points(2.2), vg.Points(9), vg.Points(4))}
	limit := curve{fmt.Sprintf("the service's limit (%g)", r.Slots), lineStyle(black, vg.Points(1.2), vg.Points(2), vg.Points(3))}
	top, right := r.Slots, 0.0
	var windowed []measure.Result
	for _, x := range r.Results {
		if x.Factor == 0 || len(x.Samples) == 0 {
			continue
		}
		windowed = append(windowed, x)
		for _, s := range x.Samples {
			top, right = max(top, s.Cwnd), max(right, s.At.Seconds())
		}
	}
	f := figure{name: "cwnd", y: "requests at a time", panelHeight: 2.4 * vg.Inch, legend: []curve{cwnd, ssthresh}}
	f.caption = "The congestion window and the slow-start threshold. Each refusal that begins a burst cuts the window; each success lets it grow."
	if r.Slots > 0 {
		f.legend = append(f.legend, limit)
	}
	top *= 1.2
	for _, x := range windowed {
		p := panel(label(x), right, 0, top)
		if r.Slots > 0 {
			p.Add(level(limit, r.Slots))
		}
		add(p, ssthresh, plotter.PostStep, points(x.Samples, top, func(s measure.Sample) float64 { return s.Ssthresh }))
		add(p, cwnd, plotter.NoStep, points(x.Samples, top, func(s measure.Sample) float64 { return s.Cwnd }))
		f.panels = append(f.panels, p)
	}
	if len(windowed) > 0 && windowed[0].Samples[0].Ssthresh > top {
		f.legend[1].text = fmt.Sprintf("ssthresh (first %g, off the scale)", windowed[0].Samples[0].Ssthresh)
	}
	return f
}

// points are a quantity over time, without what is above the scale.
func points(samples []measure.Sample, top float64, y func(measure.Sample) float64) plotter.XYs {
	var xys plotter.XYs
	for _, s := range samples {
		if v := y(s); v <= top {
			xys = append(xys, plotter.XY{X: s.At.Seconds(), Y: v})
		}
	}
	return xys
}

// rates are the answers per second over time, one panel per strategy: to the
// same logarithmic scale, or each to a linear one of its own, since beside the peaks
// of those that go wrong the others would be flat.
func (r Report) rates(logarithmic bool) figure {
	accepted := curve{"accepted", lineStyle(blue, vg.Points(2.2))}
	refused := curve{"refused", lineStyle(vermillion, vg.Points(2.2), vg.Points(6), vg.Points(2.5))}
	capacity := curve{fmt.Sprintf("the service's capacity (%g/s)", r.PerSecond), lineStyle(black, vg.Points(1.2), vg.Points(2), vg.Points(3))}
	f := figure{name: "rate", y: "requests per second", panelHeight: 1.7 * vg.Inch, legend: []curve{accepted, refused}}
	f.caption = fmt.Sprintf("Answers per second, taken over %v each. Every panel has its own scale.", r.Span)
	if r.PerSecond > 0 {
		f.legend = append(f.legend, capacity)
	}
	least := 0.0
	if logarithmic {
		f.name, least = "rate-log", 1
		f.caption = "The same to one logarithmic scale for all; nothing at all is drawn at 1."
	}
	rates := make([][]measure.Rate, len(r.Results))
	tops := make([]float64, len(r.Results))
	right := 0.0
	for i, x := range r.Results {
		rates[i], tops[i] = measure.Rates(x.Samples, r.Span), max(r.PerSecond, 10)
		for _, v := range rates[i] {
			tops[i], right = max(tops[i], v.Accepted, v.Refused), max(right, v.To.Seconds())
		}
	}
	for i, x := range r.Results {
		top := tops[i]
		if logarithmic {
			top = slices.Max(tops)
		}
		p := panel(label(x), max(right, 1), least, top*1.08)
		if logarithmic {
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
		}
		if r.PerSecond > 0 {
			p.Add(level(capacity, r.PerSecond))
		}
		add(p, refused, plotter.NoStep, steps(rates[i], least, func(v measure.Rate) float64 { return v.Refused }))
		add(p, accepted, plotter.NoStep, steps(rates[i], least, func(v measure.Rate) float64 { return v.Accepted }))
		f.panels = append(f.panels, p)
	}
	return f
}

// steps are the rates as a line that is level over each one's span.
func steps(rates []measure.Rate, least float64, y func(measure.Rate) float64) plotter.XYs {
	var xys plotter.XYs
	for _, v := range rates {
		h := max(y(v), least)
		xys = append(xys, plotter.XY{X: v.From.Seconds(), Y: h}, plotter.XY{X: v.To.Seconds(), Y: h})
	}
	return xys
}
