package chart

import (
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/sim"
)

// mostWaits is how many waits are drawn at most, of what never gives up.
const mostWaits = 20

// delays are the waits of one operation that never succeeds, before each attempt.
func (d drawing) delays() figure.Figure {
	f := figure.Figure{X: "number of the attempt", Y: "wait before it (s)", PanelHeight: singleHeight}
	all := make([][]time.Duration, len(d.rows))
	last, least, longest := 0, backoff.MaxDelay, time.Millisecond
	for i, r := range d.rows {
		all[i] = waits(r.Strategy.Retry, d.Seed)
		last = max(last, len(all[i])+1)
		for _, w := range all[i] {
			least, longest = min(least, max(w, time.Microsecond)), max(longest, w)
		}
	}
	y := figure.Axis{Max: longest.Seconds() * 1.06}
	if d.LogY {
		y = figure.Axis{Min: least.Seconds() / 1.3, Max: longest.Seconds() * 1.5, Log: true}
	}
	p := figure.NewPanel("", figure.Axis{Min: 1, Max: float64(last) + 0.5}, y)
	for i, w := range all {
		c := figure.Nth(d.rows[i].Strategy.Name, i)
		var xys figure.Points
		for j, wait := range w {
			xys = append(xys, figure.Point{X: float64(j + 2), Y: wait.Seconds()})
		}
		p.Line(c, xys)
		f.Legend = append(f.Legend, c)
	}
	f.Panels = []*figure.Panel{p}
	return f
}

// waits are those before the retries of an operation that never succeeds.
func waits(r sim.Retry, seed uint64) []time.Duration {
	b := r.Delays()
	if b == nil {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var all []time.Duration
	var last, elapsed time.Duration
	for i := 1; i <= mostWaits; i++ {
		w, again := b.Delay(backoff.State{Retry: i, Last: last, Elapsed: elapsed}, random)
		if !again {
			break
		}
		all = append(all, w)
		last, elapsed = w, elapsed+w
	}
	return all
}
