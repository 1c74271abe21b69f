package sim

import (
	"math"
	"slices"
	"time"
)

// optimum is the makespan of a clairvoyant client, who sends each of the same operations so that it arrives
// just when the server has room: a queue without bound in front of a server at its best concurrency. 0: that
// does not end either.
//
// If the server's time depends on the concurrency, the best fixed concurrency is the best rhythm. Only at the
// end fewer may be better: of some concurrencies the best is taken, within 3% of a search of all (see the test).
func optimum(s Scenario, seed uint64) time.Duration {
	s.NoTraces = true
	s.Clients.Timeout = 0
	s.Server.Reserve = 0
	var best time.Duration
	for _, most := range s.concurrencies() {
		if d := clairvoyant(s, most, seed); best == 0 || d > 0 && d < best {
			best = d
		}
	}
	return best
}

// concurrencies are the candidates for the clairvoyant, 0: no bound. If the server slows down these are the
// best one for a long time; more and fewer than that, since the last operations leave sooner the fewer they
// are; those that do all operations in equal rounds; and all at once, since a slowdown has a longest time.
func (s Scenario) concurrencies() []int {
	if s.Server.Slowdown.Limit == 0 && s.Server.Knee.At == 0 {
		return []int{0}
	}
	best, n := s.Server.bestConcurrency(), float64(s.Clients.total())
	if most := fewest(s.Server.Slots, s.Server.Medium.Places); most > 0 {
		best = min(best, float64(most))
	}
	if best >= n {
		return []int{0}
	}
	all := []int{int(best), 0}
	for c := best / 1.5; c < 2*best; c *= 1.08 {
		all = append(all, int(c)+1)
	}
	rounds := math.Floor(n / best)
	for k := max(1, rounds-1); k <= rounds+1; k++ {
		all = append(all, int(math.Ceil(n/k)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// clairvoyant is the makespan of the clairvoyant with at most most requests at the server.
func clairvoyant(s Scenario, most int, seed uint64) time.Duration {
	v := &s.Server
	v.Slots = fewest(v.Slots, most, v.Medium.Places)
	v.Capacity = slices.Clone(v.Capacity)
	for i, c := range v.Capacity {
		if c.Slots > 0 {
			v.Capacity[i].Slots = fewest(c.Slots, most, v.Medium.Places)
		}
	}
	v.Queue = math.MaxInt
	v.Medium, v.Failures = Medium{}, Failures{}
	e := newEngine(s, Strategy{}, seed)
	e.clairvoyant = true
	e.run()
	if e.ended != endedDone {
		return 0
	}
	return e.meter.Makespan
}
