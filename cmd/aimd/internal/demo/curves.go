package demo

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
)

// figures are all that the results give. Without a window there is no cwnd.
func (r Report) figures() []figure.Figure {
	var figures []figure.Figure
	if f := r.cwnd(); len(f.Panels) > 0 {
		figures = append(figures, f)
	}
	if len(r.Results) > 0 {
		figures = append(figures, r.rates(false), r.rates(true))
	}
	return figures
}

// cwnd is the window over time, one panel per strategy that has one.
func (r Report) cwnd() figure.Figure {
	cwnd := figure.Line("cwnd", figure.Blue, 2.2)
	ssthresh := figure.Line("ssthresh", figure.Orange, 2.2, 9, 4)
	limit := figure.Line(fmt.Sprintf("the service's limit (%g)", r.Slots), figure.Black, 1.2, 2, 3)
	top, right := r.Slots, 0.0
	var windowed []measure.Result
	for _, x := range r.Results {
		if len(x.Samples) == 0 || x.Samples[0].Cwnd == 0 {
			continue
		}
		windowed = append(windowed, x)
		for _, s := range x.Samples {
			top, right = max(top, s.Cwnd), max(right, s.At.Seconds())
		}
	}
	f := figure.Figure{Name: "cwnd", X: "time (s)", Y: "requests at a time", PanelHeight: 2.4 * vg.Inch, Legend: []figure.Curve{cwnd, ssthresh}}
	f.Caption = "The congestion window and the slow-start threshold. Each refusal that begins a burst cuts the window; each success lets it grow."
	if r.Slots > 0 {
		f.Legend = append(f.Legend, limit)
	}
	top *= 1.2
	for _, x := range windowed {
		p := figure.NewPanel(label(x), figure.Axis{Max: right}, figure.Axis{Max: top})
		if r.Slots > 0 {
			p.Level(limit, r.Slots)
		}
		p.Steps(ssthresh, points(x.Samples, top, func(s measure.Sample) float64 { return s.Ssthresh }))
		p.Line(cwnd, points(x.Samples, top, func(s measure.Sample) float64 { return s.Cwnd }))
		f.Panels = append(f.Panels, p)
	}
	if len(windowed) > 0 && windowed[0].Samples[0].Ssthresh > top {
		f.Legend[1].Text = fmt.Sprintf("ssthresh (first %g, off the scale)", windowed[0].Samples[0].Ssthresh)
	}
	return f
}

// points are a quantity over time, without what is above the scale.
func points(samples []measure.Sample, top float64, y func(measure.Sample) float64) figure.Points {
	var xys figure.Points
	for _, s := range samples {
		if v := y(s); v <= top {
			xys = append(xys, figure.Point{X: s.At.Seconds(), Y: v})
		}
	}
	return xys
}

// rates are the answers per second over time, one panel per strategy: to the
// same logarithmic scale, or each to a linear one of its own, since beside the peaks
// of those that go wrong the others would be flat.
func (r Report) rates(logarithmic bool) figure.Figure {
	accepted := figure.Line("accepted", figure.Blue, 2.2)
	refused := figure.Line("refused", figure.Vermillion, 2.2, 6, 2.5)
	capacity := figure.Line(fmt.Sprintf("the service's capacity (%g/s)", r.PerSecond), figure.Black, 1.2, 2, 3)
	f := figure.Figure{Name: "rate", X: "time (s)", Y: "requests per second", PanelHeight: 1.7 * vg.Inch, Legend: []figure.Curve{accepted, refused}}
	f.Caption = fmt.Sprintf("Answers per second, taken over %v each. Every panel has its own scale.", r.Span)
	if r.PerSecond > 0 {
		f.Legend = append(f.Legend, capacity)
	}
	least := 0.0
	if logarithmic {
		f.Name, least = "rate-log", 1
		f.Caption = "The same to one logarithmic scale for all; nothing at all is drawn at 1."
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
		p := figure.NewPanel(label(x), figure.Axis{Max: max(right, 1)}, figure.Axis{Min: least, Max: top * 1.08, Log: logarithmic})
		if r.PerSecond > 0 {
			p.Level(capacity, r.PerSecond)
		}
		p.Line(refused, steps(rates[i], func(v measure.Rate) float64 { return v.Refused }))
		p.Line(accepted, steps(rates[i], func(v measure.Rate) float64 { return v.Accepted }))
		f.Panels = append(f.Panels, p)
	}
	return f
}

// steps are the rates as a line that is level over each one's span.
func steps(rates []measure.Rate, y func(measure.Rate) float64) figure.Points {
	var xys figure.Points
	for _, v := range rates {
		h := y(v)
		xys = append(xys, figure.Point{X: v.From.Seconds(), Y: h}, figure.Point{X: v.To.Seconds(), Y: h})
	}
	return xys
}
