package demo

import (
	"fmt"
	"math"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/sim"
)

// figures are the courses of the results over time, drawn as those of simulated runs:
// the window where there is one, and the answers, each to a scale of its own, since
// beside the peaks of those that go wrong the others would be flat, and all to the same
// logarithmic one.
func (r Report) figures() []figure.Figure {
	var s experiment.Study
	s.Server = sim.Server{Slots: int(math.Ceil(r.Slots)), Rate: sim.Rate{PerSecond: r.PerSecond}}
	for _, x := range r.Results {
		row := experiment.Row{Strategy: sim.Strategy{Name: label(x)}}
		row.Typical.Traces, row.Typical.End = measure.Traces(x.Samples)
		if len(x.Samples) > 0 && x.Samples[0].Cwnd > 0 {
			row.Strategy.Window.Law = x.Strategy
		}
		s.Rows = append(s.Rows, row)
	}
	s.Plot = []scenario.Plot{
		{Kind: scenario.Window, Name: "cwnd", Measured: true,
			Caption: "The congestion window and the slow-start threshold. Each refusal that begins a burst cuts the window; each success lets it grow."},
		{Kind: scenario.Answers, Name: "rate", Measured: true, Per: r.Span,
			Caption: fmt.Sprintf("Answers per second, taken over %v each. Every panel has its own scale.", r.Span)},
		{Kind: scenario.Answers, Name: "rate-log", Measured: true, Per: r.Span, LogY: true,
			Caption: "The same to one logarithmic scale for all; nothing at all is drawn at 1."},
	}
	return chart.Figures(s)
}
