package harm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sim"
)

// A few are refused whatever the load: the law does at least .85 of what the better of Reno 0.9 and backoff does. make proof plays
// a minute of work with three seeds, a push ten seconds with one.
func TestFewRefusalsByChance(t *testing.T) {
	seeds, work := uint64(1), 10
	if *set == 0 {
		seeds, work = 3, 60
	}
	for _, percent := range []int{1, 2, 3} {
		for _, slots := range []int{16, 32, 64, 128} {
			t.Run(fmt.Sprintf("%d%% at %d", percent, slots), func(t *testing.T) {
				t.Parallel()
				var s sim.Scenario
				s.Server = sim.Server{Service: 100 * ms, Slots: slots, Refusal: sim.Refusal{Time: 10 * ms}}
				s.Server.Failures = sim.Failures{Rate: float64(percent) / 100, Overload: true}
				s.Clients = sim.Clients{Arrivals: "closed", Count: 3 * slots, Operations: 10 * slots * work}
				s.NoTraces, s.Optimum, s.Horizon = true, 1, 2*time.Hour
				share := map[string]float64{}
				for _, name := range []string{"probe", "reno-0.9", "backoff"} {
					var took []float64
					for seed := range seeds {
						st := named(t, name)
						st.Shared = true
						r, err := sim.Run(s, st, 5200+seed)
						require.NoError(t, err)
						took = append(took, max(r.Makespan, r.End).Seconds())
					}
					slices.Sort(took)
					share[name] = float64(work) / took[len(took)/2]
				}
				t.Logf("of the best: probe %.2f, Reno 0.9 %.2f, backoff %.2f", share["probe"], share["reno-0.9"], share["backoff"])
				assert.GreaterOrEqual(t, share["probe"], 0.85*max(share["reno-0.9"], share["backoff"]))
			})
		}
	}
}
