package backoff

import "time"

// Decorrelated is decorrelated jitter: a delay is random between Min and Factor times the one before,
// then capped: min(Max, U(Min, Factor*Last)). It needs State.Last; the first delay grows from Min. The
// cap comes after the jitter.
//
// Source: "Exponential Backoff And Jitter", AWS Architecture Blog: "sleep = min(cap, random_between(base,
// sleep * 3))". The zero value is {100 ms, 30 s, 3}.
type Decorrelated struct {
	// Min and Max are the shortest delay and the cap, with the bounds and the defaults of Exponential.
	Min, Max time.Duration
	// Factor is 1 to 1000; 0 means 3, the source's.
	Factor float64
}

func (b Decorrelated) withDefaults() (Decorrelated, error) {
	var c checks
	c.bounds(&b.Min, &b.Max)
	c.number("factor", &b.Factor, 3, 1, maxFactor)
	return b, c.err
}

func (b Decorrelated) check() error { return errorOf(b.withDefaults()) }

// Delay implements Backoff; it never ends.
func (b Decorrelated) Delay(s State, r Rand) (time.Duration, bool) {
	b, _ = b.withDefaults()
	last := b.Min
	if !s.first() {
		last = max(s.Last, b.Min)
	}
	lo, hi := float64(b.Min), float64(b.Factor*float64(last))
	return min(duration(lo+float64((hi-lo)*r.Float64())), b.Max), true
}
