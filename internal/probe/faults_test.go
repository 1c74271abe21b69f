package probe_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

// connected plays rounds of 20 ms behind so many connections, 0: any number, of which each third is refused if it says so, and
// the others get a slot while there are some. It returns the accepted, the refused, and the largest window.
func (p *probed) connected(rounds, connections, slots int, third bool) (taken, refused int, most float64) {
	for range rounds {
		n := p.fill()
		if p.now += 20 * ms; connections > 0 {
			n = min(n, connections)
		}
		good := min(n, slots)
		if third {
			good = min(n-n/3, slots)
		}
		for i := range n { // refusals lie evenly between successes
			o := window.Overload
			if (i+1)*good/n > i*good/n {
				o = window.Success
			}
			p.answer(1, o)
		}
		taken, refused, most = taken+good, refused+n-good, max(most, p.State().Cwnd)
	}
	return taken, refused, most
}

// A client that can send only 35 at a time, for want of connections or of its processor, has at most 1.2 refusals for each success
// of 16 slots, however large the window is. Before the first load 1.5 were no load: for ever half was refused, and the window
// grew by one with each success. The same was so with a share that a hold had measured.
func TestAWindowThatDoesNotPayIsLoad(t *testing.T) {
	for _, connections := range []int{20, 24, 28, 32, 35, 38} {
		taken, refused, most := newProbed(t, window.Settings{}).connected(1250, connections, 16, false)
		require.Less(t, refused, taken/4, "%d connections", connections)
		require.Less(t, most, 200., "%d connections", connections)
	}
	for _, connections := range []int{90, 96} {
		p := newProbed(t, window.Settings{})
		p.connected(400, 0, 60, true)
		_, _, most := p.connected(3600, connections, 60, true)
		require.Less(t, most, 400., "%d connections", connections)
	}
}

// Twenty workers at 50 a second without bursts, whose refusals ask for a second: 155 to 213 of 1000 jobs are refused. When the hold
// of the first load ended the law was at its start again: 22 more were no load, and it was 167 to 408.
func TestLoadThatAsksForTimeEndsTheStart(t *testing.T) {
	s := sim.Scenario{
		Server: sim.Server{
			Service: 40 * ms, Spread: sim.Spread{Kind: "exponential"}, Rate: sim.Rate{PerSecond: 50, Burst: 1},
			Refusal: sim.Refusal{Time: 5 * ms, RetryAfter: time.Second},
		},
		Clients: sim.Clients{Count: 20, Arrivals: "closed", Operations: 1000}, NoTraces: true, Optimum: 1,
	}
	for seed := range uint64(10) {
		r, err := sim.Run(s, sim.Strategy{Name: "probe", Shared: true, Window: sim.Window{NewLaw: probe.New}}, seed)
		require.NoError(t, err)
		require.Less(t, r.Refused, 220, "seed %d", seed)
	}
}

// Callers with deadlines of a second, at a service that refuses a share by itself, at once, and takes 100 ms for the rest. The first
// refusals came before any success and were load, although many more flew: less than half of the calls was served, for minutes, in
// twelve of 60 runs with 25% refused, and in 24 with 30%.
func TestCallersWithDeadlinesAtAServiceThatRefusesByItself(t *testing.T) {
	for _, refused := range []float64{0.2, 0.25, 0.3} {
		s := sim.Scenario{
			Server: sim.Server{
				Service: 100 * ms, Spread: sim.Spread{Kind: "uniform", Width: 0.5}, Slots: 32, Refusal: sim.Refusal{Time: 10 * ms},
				Failures: sim.Failures{Rate: refused, Overload: true},
			},
			Clients: sim.Clients{Arrivals: "poisson", Rate: 190, Operations: 10_000, Deadline: time.Second}, NoTraces: true, Optimum: 1,
		}
		var done []int
		for seed := range uint64(20) {
			r, err := sim.Run(s, sim.Strategy{Name: "probe", Shared: true, Window: sim.Window{NewLaw: probe.New}}, seed)
			require.NoError(t, err)
			done = append(done, r.Done)
		}
		slices.Sort(done)
		require.Greater(t, done[1], 9000, "%v refused: %v", refused, done)
	}
}
