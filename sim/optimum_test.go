package sim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

// slowing are servers whose best concurrency is not where they begin to slow down,
// and some where it is, with what they can serve a second.
var slowing = map[string]struct {
	server Server
	best   float64 // a second; 0: not worked out by hand
}{
	// 15/ln(1.05) = 307.4: 307 at 1.05^(277/15) * 100 ms.
	"slowdown: the text's own constants": {Server{Service: 100 * ms, Slowdown: Slowdown{Limit: 30}}, 307 / (0.1 * math.Pow(1.05, 277.0/15))},
	"slowdown: from one on":              {Server{Service: 100 * ms, Slowdown: Slowdown{Limit: 1, Factor: 1.5, Scale: 3}}, 0},
	// 20/ln(2) = 28.9 is less than the limit.
	"slowdown: steep":               {Server{Service: 100 * ms, Slowdown: Slowdown{Limit: 30, Factor: 2, Scale: 20}}, 300},
	"slowdown: with a longest time": {Server{Service: 100 * ms, Slowdown: Slowdown{Limit: 2, Factor: 2, Scale: 5, Max: time.Second}}, 0},
	"slowdown: with slots":          {Server{Service: 100 * ms, Slots: 40, Queue: 1000, Slowdown: Slowdown{Limit: 30}}, 40 / (0.1 * math.Pow(1.05, 10.0/15))},
	"knee: flat":                    {Server{Service: 100 * ms, Knee: Knee{At: 7}}, 70},
	"knee: thrashing":               {Server{Service: 100 * ms, Knee: Knee{At: 7, Slope: 1.3}}, 70},
	// c/(1 + 0.5*(c-8)/8) goes to 8/0.5.
	"knee: it goes on growing":        {Server{Service: 100 * ms, Knee: Knee{At: 8, Slope: 0.5}}, 160},
	"knee: it goes on growing, slots": {Server{Service: 100 * ms, Slots: 24, Queue: 1000, Knee: Knee{At: 8, Slope: 0.5}}, 120},
	"knee: with a medium":             {Server{Service: 100 * ms, Knee: Knee{At: 8, Slope: 0.5}, Medium: Medium{Places: 24}}, 120},
}

// without plays a scenario without looking for its optimum.
func without(s Scenario, st Strategy) Result {
	s.NoTraces = true
	e := newEngine(s.WithDefaults(), st, 1)
	e.run()
	return e.meter.result(e)
}

// The clairvoyant is not beaten by any fixed concurrency: they are all tried, by clients with such a window,
// for operations that come at once or one by one. Where they come one by one and are gone after a few rounds,
// some other concurrency may fit a little better.
func TestOptimumAgainstBruteForce(t *testing.T) {
	for name, c := range slowing {
		for _, load := range []struct {
			Clients
			within float64
		}{
			{Clients{Operations: 150}, 1.0001},
			{Clients{Operations: 97, Rate: 333}, 1.03},
			{Clients{Operations: 400, Rate: 1000}, 1.01},
		} {
			t.Run(name, func(t *testing.T) {
				s := Scenario{Server: c.server, Clients: load.Clients}
				least := time.Duration(math.MaxInt64)
				for most := 1; most <= load.Operations; most++ {
					r := without(s, Strategy{Window: Window{Law: "reno", Initial: float64(most), Max: float64(most)}})
					if r.Done == load.Operations {
						least = min(least, r.Makespan)
					}
				}
				best := optimum(s.WithDefaults(), 1).Seconds()
				assert.LessOrEqual(t, best, least.Seconds()*load.within)
				assert.GreaterOrEqual(t, best, least.Seconds()*0.97, "and it is not far from what can be had")
			})
		}
	}
}

// What can be served a second, by all concurrencies tried.
func TestThroughputAgainstBruteForce(t *testing.T) {
	for name, c := range slowing {
		t.Run(name, func(t *testing.T) {
			got := c.server.throughput(0)
			if c.best > 0 {
				assert.InEpsilon(t, c.best, got, 1e-9)
			}
			if c.server.Slowdown.Max > 0 || c.server.Slots+c.server.Medium.Places == 0 && c.server.Knee.Slope > 0 && c.server.Knee.Slope < 1 {
				return // the more the better: only in the limit
			}
			best := 0.0
			for n := 1; n <= 400; n += 1 {
				// So many at once take equally long.
				r := without(Scenario{Server: c.server, Clients: Clients{Operations: n}}, Strategy{})
				if r.Done == n {
					best = max(best, float64(n)/r.Makespan.Seconds())
				}
			}
			assert.InEpsilon(t, best, got, 1e-6)
		})
	}
}
