package backoff

import "time"

// Compound is the loop of [Crash] to the letter: each delay is grown from the one before, its jitter
// included, so that clients that began together drift apart more and more:
//
//	delay = MinDelay
//	...
//	delay = min(delay * Factor, MaxDelay)
//	delay = delay + norm_variate(delay * Jitter)
//
// The first delay is exactly Min, without jitter; the cap comes before the jitter ("excluding Jitter").
// No delay grows from less than Min, which the text leaves open: after a delay of 0 all would be 0. It
// needs State.Last.
//
// Jitter should be 1 on average: Normal or Proportional. Full and Equal shorten again at each retry, and
// with Full the delays do not grow.
//
// The zero value is {100 ms, 30 s, 2} without jitter. The two published sets are {Min: 100ms, Max: 10min,
// Factor: 2.7, Jitter: Normal(0.1)} ("blue") and {Min: 1s, Max: 5min, Factor: 1.5, Jitter: Normal(0.1)}
// ("green").
type Compound struct {
	// Min is the first delay: 1 ns to Max; 0 means 100 ms, or Max if that is shorter.
	Min time.Duration
	// Max is the cap: Min to MaxDelay; 0 means 30 s, or Min if that is longer.
	// [Crash]: "for example, 15 minutes".
	Max time.Duration
	// Factor is the growth: 1 to 1000; 0 means 2.
	Factor float64
	// Jitter is the random part, which [Crash] has as Normal.
	Jitter Jitter
}

func (c Compound) withDefaults() (Compound, error) {
	var k checks
	k.bounds(&c.Min, &c.Max)
	k.number("factor", &c.Factor, defaultFactor, 1, maxFactor)
	k.fail(c.Jitter.check())
	return c, k.err
}

func (c Compound) check() error { return errorOf(c.withDefaults()) }

// Delay implements Backoff; it never ends.
func (c Compound) Delay(s State, r Rand) (time.Duration, bool) {
	c, _ = c.withDefaults()
	if s.first() {
		return c.Min, true
	}
	d := duration(float64(max(s.Last, c.Min)) * c.Factor)
	return c.Jitter.apply(min(d, c.Max), r), true
}
