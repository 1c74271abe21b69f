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
// No delay grows from less than Min: after a delay of 0 all would be 0. It needs State.Last.
//
// Jitter should be 1 on average: Normal, as in [Crash], or Proportional. With Full the delays do not grow.
//
// The zero value is {100 ms, 30 s, 2} without jitter. The package comment has the two published sets of
// settings, blue and green.
type Compound struct {
	// Min and Max are the first delay and the cap, with the bounds and the defaults of Exponential.
	Min, Max time.Duration
	// Factor is the growth: 1 to 1000; 0 means 2.
	Factor float64
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
