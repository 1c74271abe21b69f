package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/aimd-go/aimd"
)

// sizes are the stores at which Probe and Reno 0.9 are compared.
var sizes = []task{
	{objects: 600, slots: 8, service: 100 * time.Millisecond},
	{objects: 2000, slots: 16, service: 50 * time.Millisecond},
	{objects: 4000, slots: 16, service: 5 * time.Millisecond},
	{objects: 2000, slots: 32, service: 100 * time.Millisecond},
	{objects: 8000, slots: 64, service: 20 * time.Millisecond},
	{objects: 6000, slots: 128, service: 100 * time.Millisecond},
	{objects: 6000, slots: 256, service: 200 * time.Millisecond},
}

// stores prints the time of Probe at stores of several sizes, as a ratio to Reno 0.9 in the
// same round, so that other work on the machine cancels out.
func (p plan) stores(ctx context.Context, w io.Writer) error {
	laws := []contender{aimdContender("Reno", aimd.NewReno, aimd.WithFactor(0.9)), aimdContender("Probe", aimd.New)}
	var rows []table.Row
	for _, t := range sizes {
		t.objects = max(1, t.objects*p.task.objects/bulk.objects)
		t.size, t.goroutines = 0, max(256, 2*t.slots)
		spans, attempts := make([][]float64, len(laws)), make([][]float64, len(laws))
		var ratios []float64
		for round := range p.uploads {
			progress("%d slots, %v: round %d of %d", t.slots, t.service, round+1, p.uploads)
			for i, law := range laws {
				r, err := t.run(ctx, law.adaptive(20))
				if err != nil {
					return fmt.Errorf("%s: %w", law.name, err)
				}
				spans[i], attempts[i] = append(spans[i], r.span), append(attempts[i], r.attempts)
			}
			ratios = append(ratios, spans[1][round]/spans[0][round])
		}
		row := table.Row{t.slots, t.service, fmt.Sprintf("%.3f", median(ratios))}
		for i := range laws {
			row = append(row, fmt.Sprintf("%.3f, %.3f", median(spans[i]), median(attempts[i])))
		}
		rows = append(rows, row)
	}
	markdown(w, "Probe and Reno 0.9, at stores of several sizes: times the optimum, attempts per object",
		table.Row{"slots", "service time", "time over Reno's", "Reno", "Probe"}, rows)
	return nil
}
