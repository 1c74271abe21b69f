//go:build !race

package probe_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/internal/sim"
)

// drawn are twenty services, by the first draw of a fixed seed: slots or a rate, answers of equal or different lengths, a share
// that is refused whatever the load, one client or a few, workers of a pool or all at once.
func drawn() (all []sim.Scenario) {
	r := rand.New(rand.NewPCG(52, 20))
	between := func(least, most int) int { return least + r.IntN(most-least+1) }
	for range 20 {
		var s sim.Scenario
		v, c := &s.Server, &s.Clients
		v.Service = time.Duration(between(10, 500)) * ms
		v.Spread.Kind = []string{"", "uniform", "exponential", "lognormal"}[r.IntN(4)]
		v.Refusal.Time = time.Duration(between(1, 20)) * ms
		if r.IntN(3) == 0 {
			v.Rate = sim.Rate{PerSecond: float64(between(10, 300)), Burst: float64(between(1, 50)), CountRefused: r.IntN(2) == 0}
		} else {
			v.Slots = between(5, 200)
		}
		if r.IntN(2) == 0 {
			v.Failures = sim.Failures{Rate: 0.01 * float64(between(1, 12)), Overload: true}
		}
		c.Operations = 1500
		if r.IntN(2) == 0 {
			c.Arrivals, c.Count = "closed", between(4, 100)
		} else if r.IntN(3) == 0 {
			c.Count = between(2, 10)
		}
		s.NoTraces, s.Horizon = true, 2*time.Hour
		all = append(all, s)
	}
	return all
}

// No service's worst of 31 runs takes more than three times its median, or four times the optimum: five if a limit counts what it
// refuses, as docs/laws.md says. All runs end.
func TestTheWorstRunIsBounded(t *testing.T) {
	for i, s := range drawn() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var took []float64
			for seed := range uint64(31) {
				most := 4.
				if s.Server.Rate.CountRefused {
					most = 5
				}
				st := sim.Strategy{Name: "probe", Shared: s.Clients.Arrivals == "closed", Window: sim.Window{NewLaw: probe.New}}
				s.Optimum = time.Second // a clairvoyant run takes a third of the time
				if seed == 0 {
					s.Optimum = 0
				}
				r, err := sim.Run(s, st, 5200+seed)
				require.NoError(t, err)
				require.Equal(t, "done", r.Ended)
				took = append(took, r.Makespan.Seconds())
				if seed == 0 {
					t.Logf("optimum %v", r.Optimum)
					defer func() {
						assert.LessOrEqual(t, took[30], most*r.Optimum.Seconds(), "worst over the optimum, %+v", s.Server)
					}()
				}
			}
			slices.Sort(took)
			t.Logf("median %.2f, worst %.2f", took[15], took[30])
			assert.LessOrEqual(t, took[30], 3*took[15], "worst over the median, %+v", s.Server)
		})
	}
}
