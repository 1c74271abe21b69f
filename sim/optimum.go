package sim

import (
	"math"
	"slices"
	"time"
)

// throughput is how many operations a second the server can serve at that time,
// at the concurrency that is best for it; +Inf: no bound.
func (s Server) throughput(at time.Duration) float64 {
	s = s.withDefaults()
	slots, rate, service := s.Slots, s.Rate.PerSecond, s.Service
	for _, c := range s.Capacity {
		if c.At <= at && c.Slots > 0 {
			slots = c.Slots
		}
		if c.At <= at && c.Rate > 0 {
			rate = c.Rate
		}
		if c.At <= at && c.Service > 0 {
			service = c.Service
		}
	}
	most := math.Inf(1)
	if rate > 0 {
		most = rate
	}
	if s.Blocks.Operations > 0 {
		service = (service + s.Blocks.Service) / 2
	}
	if service == 0 {
		return most
	}
	best := s.bestConcurrency()
	if n := fewest(slots, s.Medium.Places); n > 0 {
		best = min(best, float64(n))
	}
	return min(most, s.served(best)/service.Seconds())
}

// bestConcurrency is the one with the highest throughput of a server that slows
// down or has a knee; +Inf: the more the better.
//
// With a slowdown, c/delay(c) has its maximum at Scale/ln(Factor), unless it only
// begins beyond that. With a knee, c/stretch(c) grows for ever if Slope is less
// than 1, is the same from At on if it is 1, and falls from there on if it is
// more.
func (s Server) bestConcurrency() float64 {
	switch {
	case s.Slowdown.Limit > 0:
		peak := s.Slowdown.Scale / logarithm(s.Slowdown.Factor)
		best := max(1, math.Floor(peak))
		if s.served(best+1) > s.served(best) {
			best++
		}
		return max(best, float64(s.Slowdown.Limit))
	case s.Knee.At > 0 && s.Knee.Slope >= 1:
		return float64(s.Knee.At)
	}
	return math.Inf(1)
}

// served is how many are served in one Service time at that concurrency.
func (s Server) served(concurrency float64) float64 {
	switch over := concurrency - float64(max(s.Slowdown.Limit, s.Knee.At)); {
	case over <= 0:
		return concurrency
	case s.Slowdown.Limit > 0:
		return concurrency * exponential(-over*logarithm(s.Slowdown.Factor)/s.Slowdown.Scale)
	case s.Knee.At > 0 && math.IsInf(concurrency, 1):
		return float64(s.Knee.At) / s.Knee.Slope
	case s.Knee.At > 0:
		return concurrency / (1 + float64(s.Knee.Slope*over)/float64(s.Knee.At))
	}
	return concurrency
}

// demand is how many operations a second the clients ask for, +Inf: no bound.
func (s Clients) demand(v Server) float64 {
	each := math.Inf(1)
	switch s.Arrivals {
	case steadyWord, poisson:
		return s.Rate
	case onOff:
		return s.Rate * s.On.Seconds() / (s.On + s.Off).Seconds()
	case closedWord:
		each = (s.Think + v.Connect + v.Service).Seconds()
	case periodicWord:
		each = s.Period.Seconds()
	default:
		return each
	}
	return float64(s.Count) / each
}

// optimum is the makespan of a clairvoyant client that knows what the server can
// take: the same operations, each sent so that it arrives just when there is room
// for it. That is a queue without bound in front of the server, which lets in
// as many at a time as is best. 0: that does not end either.
//
// For a server that answers each within the time of its concurrency, nothing that
// sends in another rhythm does better than the best fixed concurrency: of
// the n requests that come while one is there, that one leaves after delay(n) at
// the earliest, so that in any time no more are served than n/delay(n) for the
// best n. Only the last ones may be fewer: of some concurrencies the best is taken,
// which a search of all would improve by at most 3% (see the test).
func optimum(s Scenario, seed uint64) time.Duration {
	s.Trace.Off = true
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

// concurrencies are those at which the clairvoyant may be best off, 0: no
// bound. Where the server slows down these are the one that is best for a long
// time, more and fewer than that, since the last operations leave sooner the fewer
// they are, and those with which all operations are done in equal rounds. And all
// at once, since a slowdown has a longest time.
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

// clairvoyant is its makespan if it never has more than most requests at the
// server.
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
	return e.meter.makespan
}

// fewest is the least of the bounds, where 0 is none.
func fewest(bounds ...int) int {
	least := 0
	for _, n := range bounds {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
