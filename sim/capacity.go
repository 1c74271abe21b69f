package sim

import (
	"cmp"
	"math"
	"time"
)

// lastChange is when the capacity last changed or an outage last ended before the end of a run, and false if
// neither did.
func (s Server) lastChange(end time.Duration) (at time.Duration, changed bool) {
	for _, c := range s.Capacity {
		if c.At < end {
			at, changed = max(at, c.At), true
		}
	}
	for _, o := range s.Outages {
		if o.end() < end {
			at, changed = max(at, o.end()), true
		}
	}
	return at, changed
}

// throughput is how many operations a second the server can serve at that time, at its best concurrency;
// +Inf: no bound.
func (s Server) throughput(at time.Duration) float64 {
	s = s.withDefaults()
	slots, rate, service := s.Slots, s.Rate.PerSecond, s.Service
	for _, c := range s.Capacity {
		if c.At <= at {
			slots, rate, service = cmp.Or(c.Slots, slots), cmp.Or(c.Rate, rate), cmp.Or(c.Service, service)
		}
	}
	most := math.Inf(1)
	if rate > 0 {
		most = rate
	}
	for _, q := range s.Quotas {
		most = min(most, q.perSecond()/max(q.Cost, 1))
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

// capacity is how many operations can be served in that time, 0: no bound.
func (s Server) capacity(from, to time.Duration) float64 {
	sum := 0.0
	for at := from; at < to; {
		next := to
		for _, c := range s.Capacity {
			if c.At > at {
				next = min(next, c.At)
			}
		}
		sum += float64(s.throughput(at) * (next - at).Seconds())
		at = next
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	return sum
}

// bestConcurrency is the concurrency with the highest throughput of a server that slows down or has a knee;
// +Inf: the more the better. With a slowdown, c/delay(c) has its maximum at Scale/ln(Factor), unless the
// slowdown begins beyond that. With a knee, c/stretch(c) grows for ever if Slope is less than 1, and falls
// from At on if Slope is more than 1.
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

// fewest is the least of the bounds; 0 is no bound.
func fewest(bounds ...int) int {
	least := 0
	for _, n := range bounds {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
